"""When things happen in the recording. Epoch milliseconds, UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from inquest.domain.value import epoch_ms
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Logs, Story, logs_of

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
SCRAPE_MS = 30 * SECOND
BETWEEN_PODS_MS = 30 * SECOND
"""A deployment replaces one pod after the other."""
OVERLAP_MS = 15 * SECOND
"""A new pod is ready so long before its old one goes."""
_FIRST_DAY = datetime(2026, 2, 2, tzinfo=UTC)
_DAYS = 90


@dataclass(frozen=True, slots=True)
class Rollout:
    """A deployment: its job begins, its first new pod serves, the last old one is gone."""

    merged_at: int
    begun_at: int
    first_pod_at: int
    finished_at: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The moments of one variation.

    `trouble_from`: what causes it begins to act. `onset`: requests fail for the first time. `rollouts` are
    the deployments near it, of which one at most is the cause; a merge request of checkout is merged at
    `merged_at`, deployed or not. The recording runs from `start` to `end`, past the present, so that time can
    go on while it is played; its logs end at `logs_end`.
    """

    start: int
    rollouts: dict[Part, Rollout]
    merged_at: int
    reindex_from: int
    reindex_until: int
    trouble_from: int
    onset: int
    full_effect: int
    logs_end: int
    end: int


def timeline(seed: int, story: Story, replicas: int) -> Timeline:
    """Lay out the variation `seed`, whose services have `replicas` pods each."""
    chance = noise(seed, "timeline")
    onset = epoch_ms(_FIRST_DAY) + chance.randrange(_DAYS * DAY)
    lead, earlier = chance.randrange(110 * SECOND, 220 * SECOND), chance.randrange(22 * MINUTE, 50 * MINUTE)
    job, review = chance.randrange(40 * SECOND, 100 * SECOND), chance.randrange(4 * MINUTE, 9 * MINUTE)
    last_waits = chance.randrange(5 * MINUTE, 9 * MINUTE)
    gone = chance.randrange(20 * MINUTE, 60 * MINUTE)

    def rollout(before_onset: int) -> Rollout:
        finished = onset - before_onset
        first = finished - (replicas - 1) * BETWEEN_PODS_MS - OVERLAP_MS
        return Rollout(first - job - review, first - job, first, finished)

    rollouts: dict[Part, Rollout] = {}
    match story:
        case Story.OWN_RELEASE:
            rollouts = {Part.CHECKOUT: rollout(lead), Part.PAYMENTS: rollout(earlier)}
        case Story.THEIR_RELEASE:
            rollouts = {Part.CHECKOUT: rollout(earlier), Part.PAYMENTS: rollout(lead)}
        case Story.UNSEEN:
            rollouts = {Part.PAYMENTS: rollout(earlier)}
        case Story.SURGE | Story.SLOW_DATABASE:
            pass
    fatal = {Story.OWN_RELEASE: Part.CHECKOUT, Story.THEIR_RELEASE: Part.PAYMENTS}.get(story)
    own = rollouts.get(Part.CHECKOUT)
    end = onset + 45 * MINUTE
    return Timeline(
        # The investigation reads 120 minutes before the alert and as much again as a baseline.
        start=onset - 5 * HOUR,
        rollouts=rollouts,
        merged_at=onset - last_waits if own is None else own.merged_at,
        reindex_from=onset - 6 * MINUTE + chance.randrange(-MINUTE, MINUTE),
        reindex_until=onset + 25 * MINUTE,
        trouble_from=onset - lead if fatal is None else rollouts[fatal].first_pod_at,
        onset=onset,
        full_effect=onset + chance.randrange(150 * SECOND, 240 * SECOND),
        logs_end={Logs.NONE: onset - 5 * HOUR, Logs.STOPPED: onset - gone}.get(logs_of(seed), end),
        end=end,
    )
