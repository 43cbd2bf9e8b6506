"""When things happen in the checkout recording. Epoch milliseconds, UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from inquest.domain.value import epoch_ms
from inquest.scenarios.generate.noise import noise

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
SCRAPE_MS = 30 * SECOND
_RECORDED_ON = datetime(2026, 3, 3, 13, 40, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The moments of one variation.

    `deployed_at`: the last new pod of checkout took over. `onset`: its pools are full for the first time.
    `payments_deployed_at` and the search reindex are the red herrings. The recording runs from `start` to
    `end`, past the present, so that time can go on while it is played.
    """

    start: int
    payments_deployed_at: int
    reindex_from: int
    reindex_until: int
    merged_at: int
    deploy_started_at: int
    deployed_at: int
    onset: int
    full_effect: int
    end: int


def timeline(seed: int) -> Timeline:
    """Lay out the variation `seed`."""
    chance = noise(seed, "timeline")
    deployed = epoch_ms(_RECORDED_ON) + chance.randrange(20 * MINUTE)
    onset = deployed + chance.randrange(120 * SECOND, 220 * SECOND)
    return Timeline(
        # The investigation reads 120 minutes before the alert and as much again as a baseline.
        start=onset - 5 * HOUR,
        payments_deployed_at=onset - 40 * MINUTE + chance.randrange(-MINUTE, MINUTE),
        reindex_from=onset - 6 * MINUTE + chance.randrange(-MINUTE, MINUTE),
        reindex_until=onset + 25 * MINUTE,
        merged_at=deployed - chance.randrange(18 * MINUTE, 30 * MINUTE),
        deploy_started_at=deployed - chance.randrange(140 * SECOND, 200 * SECOND),
        deployed_at=deployed,
        onset=onset,
        full_effect=onset + chance.randrange(150 * SECOND, 240 * SECOND),
        end=onset + 45 * MINUTE,
    )
