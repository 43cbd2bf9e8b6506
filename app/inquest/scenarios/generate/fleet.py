"""The pods of the shop, with the times they ran and are scraped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inquest.scenarios.generate.noise import noise, suffix
from inquest.scenarios.generate.play import Play
from inquest.scenarios.generate.shop import SERVICES, Part
from inquest.scenarios.generate.timeline import BETWEEN_PODS_MS, OVERLAP_MS, SCRAPE_MS

_SUFFIXES = (9, 5)  # of the replica set and of the pod


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod: it answers from `starts` until `ends` (epoch ms) and is scraped `phase` ms into each interval."""

    part: Part
    name: str
    starts: int
    ends: int
    phase: int
    is_new: bool
    """It belongs to a deployment made near the incident."""

    def scrapes(self) -> range:
        """Give the times at which Prometheus reads this pod."""
        first = self.starts - self.starts % SCRAPE_MS + self.phase
        return range(first if first >= self.starts else first + SCRAPE_MS, self.ends, SCRAPE_MS)


def fleet(play: Play) -> list[Pod]:
    """Give all pods. A deployment replaces its service's pods one after the other."""
    return [pod for part in SERVICES for pod in _pods(play, part)]


def _pods(play: Play, part: Part) -> Iterator[Pod]:
    chance = noise(play.seed, f"fleet/{part}")
    old, new = suffix(chance, _SUFFIXES[0]), suffix(chance, _SUFFIXES[0])
    times, rollout = play.times, play.times.rollouts.get(part)

    def pod(replica_set: str, starts: int, ends: int) -> Pod:
        name = f"{play.shop.names[part]}-{replica_set}-{suffix(chance, _SUFFIXES[1])}"
        return Pod(part, name, starts, ends, chance.randrange(SCRAPE_MS), is_new=replica_set == new)

    for number in range(play.much.replicas):
        if rollout is None:
            yield pod(old, times.start, times.end)
            continue
        serves_at = rollout.first_pod_at + number * BETWEEN_PODS_MS
        yield pod(old, times.start, serves_at + OVERLAP_MS)
        yield pod(new, serves_at, times.end)
