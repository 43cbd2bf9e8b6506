"""The pods of the shop, with the times they ran and are scraped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inquest.scenarios.generate.noise import noise, suffix
from inquest.scenarios.generate.timeline import SCRAPE_MS, SECOND, Timeline

NAMESPACE = "shop"
REPLICAS = 3
SERVICES = ("frontend", "checkout", "payments", "search")
_BETWEEN_PODS_MS = 35 * SECOND
_OVERLAP_MS = 15 * SECOND  # a new pod is ready before its old one goes
_SUFFIXES = (9, 5)  # of the replica set and of the pod


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod: it answers from `starts` until `ends` (epoch ms) and is scraped `phase` ms into each interval."""

    service: str
    name: str
    starts: int
    ends: int
    phase: int
    is_new: bool
    """It belongs to a deployment made within the recording."""

    def scrapes(self) -> range:
        """Give the times at which Prometheus reads this pod."""
        first = self.starts - self.starts % SCRAPE_MS + self.phase
        return range(first if first >= self.starts else first + SCRAPE_MS, self.ends, SCRAPE_MS)


def fleet(seed: int, times: Timeline) -> list[Pod]:
    """Give all pods. A deployment replaces its service's pods one after the other."""
    deployments = {"checkout": times.deployed_at, "payments": times.payments_deployed_at}
    return [pod for service in SERVICES for pod in _pods(seed, times, service, deployments.get(service))]


def _pods(seed: int, times: Timeline, service: str, deployed_at: int | None) -> Iterator[Pod]:
    chance = noise(seed, f"fleet/{service}")
    old, new = suffix(chance, _SUFFIXES[0]), suffix(chance, _SUFFIXES[0])

    def pod(replica_set: str, starts: int, ends: int) -> Pod:
        name = f"{service}-{replica_set}-{suffix(chance, _SUFFIXES[1])}"
        return Pod(service, name, starts, ends, chance.randrange(SCRAPE_MS), is_new=replica_set == new)

    for left in reversed(range(REPLICAS)):
        if deployed_at is None:
            yield pod(old, times.start, times.end)
            continue
        replaced_at = deployed_at - left * _BETWEEN_PODS_MS
        yield pod(old, times.start, replaced_at)
        yield pod(new, replaced_at - _OVERLAP_MS, times.end)
