"""When a series left its baseline: median and MAD, a threshold, and a departure that lasts.

Robust on purpose: the median and the median absolute deviation do not move for a few outliers, so that a
past spike in the baseline neither hides an onset nor makes one. A single spike in the window is no onset.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.domain.signals import Point

MIN_BASELINE_POINTS = 5
"""With fewer finite samples nothing can be called normal."""
SUSTAINED_POINTS = 3
"""Consecutive finite samples beyond the threshold, on one side: fewer are a spike (or have only begun)."""
THRESHOLD_SPREADS = 5.0
"""How many spreads from the median a sample must be; for normal noise 5 is met once in 1.7 million samples."""
RAMP_SPREADS = 2.0
"""A ramp begins where the samples before the threshold were already more than this beyond the median."""
MAD_TO_SIGMA = 1.4826
"""MAD times this estimates the standard deviation of normal noise."""
RELATIVE_FLOOR = 0.02
"""The spread is never below this share of the median: a constant baseline has no MAD."""
AMPLITUDE_FLOOR = 0.02
"""... nor below this share of the largest distance in the window: a baseline of zeros has no scale either."""
BASELINE_REACH = 0.95
"""A departure must also go beyond this quantile of the baseline's own distances from its median."""
WELL_ON_THE_WAY = 0.2
"""Of the way to the extreme: what went less far may be a drift that has nothing to do with it."""
LEADING_SHARE = 1 / 3
"""Without a baseline of its own, the first third of a series is taken for one."""


class Onset(NamedTuple):
    """Where a series leaves its baseline for good. `at_ms` is the time of the first sample that is away.

    `before` is the baseline's median, `spread` its scaled deviation, `extreme` the sample furthest from
    `before` at or after the onset, `spreads_away` the distance of `extreme` in spreads. Since `extreme_since_ms`
    it went to the extreme without a break: later than the onset, where that was a drift or it came back in between.
    """

    at_ms: int
    direction: Literal["up", "down"]
    before: float
    extreme: float
    spread: float
    spreads_away: float
    extreme_since_ms: int


class Baseline(NamedTuple):
    """What is normal: the median, the spread, and how far the baseline itself goes from its median."""

    middle: float
    spread: float
    reach: float


def find_onset(points: Sequence[Point], baseline_points: Sequence[Point]) -> Onset | None:
    """Find the first lasting departure of `points` from what `baseline_points` say is normal.

    Points are (epoch ms, value) in time order; None values (gaps, NaN) are passed over. None when nothing
    departs, when the departure is shorter than SUSTAINED_POINTS, or when the baseline is too short.
    """
    samples = [(at, value) for at, value in points if value is not None]
    baseline = describe_baseline(baseline_points, [value for _, value in samples])
    if baseline is None:
        return None
    start = _first_lasting(samples, baseline.middle, _threshold(baseline))
    if start is None:
        return None
    up = samples[start][1] > baseline.middle
    start = _ramp_start(samples, start, baseline, up=up)
    extreme = extreme_from(samples[start:], baseline.middle)
    return Onset(
        at_ms=samples[start][0],
        direction="up" if up else "down",
        before=baseline.middle,
        extreme=extreme,
        spread=baseline.spread,
        spreads_away=abs(extreme - baseline.middle) / baseline.spread,
        extreme_since_ms=samples[_extreme_since(samples[start:], extreme, baseline) + start][0],
    )


def describe_baseline(baseline_points: Sequence[Point], window_values: Sequence[float]) -> Baseline | None:
    """Say what is normal, or None when there are fewer than MIN_BASELINE_POINTS finite samples."""
    normal = [value for _, value in baseline_points if value is not None]
    if len(normal) < MIN_BASELINE_POINTS:
        return None
    middle = median(normal)
    distances = sorted(abs(value - middle) for value in normal)
    amplitude = max((abs(value - middle) for value in window_values), default=0.0)
    spread = max(
        MAD_TO_SIGMA * median(distances),
        RELATIVE_FLOOR * abs(middle),
        AMPLITUDE_FLOOR * amplitude,
    )
    if spread == 0:
        return None  # every sample of both is the same number: nothing departs
    return Baseline(middle, spread, distances[int(BASELINE_REACH * (len(distances) - 1))])


def split_leading(points: Sequence[Point]) -> tuple[Sequence[Point], Sequence[Point]]:
    """Give the leading third of `points` as a baseline, and the rest."""
    cut = int(len(points) * LEADING_SHARE)
    return points[:cut], points[cut:]


def split_baseline(points: Sequence[Point], start_ms: int | None) -> tuple[Sequence[Point], Sequence[Point]]:
    """Give the points before `start_ms` as the baseline, and the rest; where they are too few, the leading third."""
    if start_ms is not None:
        before = [point for point in points if point[0] < start_ms]
        if len(before) >= MIN_BASELINE_POINTS:
            return before, [point for point in points if point[0] >= start_ms]
    return split_leading(points)


def extreme_from(samples: Sequence[tuple[int, float]], middle: float) -> float:
    """Give the value furthest from `middle`; the earliest of equals. Raises ValueError when there is none."""
    return max((value for _, value in samples), key=lambda value: abs(value - middle))


def step_of(points: Sequence[Point]) -> int:
    """Give the smallest distance between two neighbouring points in ms, 0 for fewer than two."""
    return min((later[0] - earlier[0] for earlier, later in pairwise(points)), default=0)


def _first_lasting(samples: Sequence[tuple[int, float]], middle: float, threshold: float) -> int | None:
    """Give the index of the first of SUSTAINED_POINTS samples in a row beyond `threshold` on one side."""
    run, side = 0, 0
    for index, (_, value) in enumerate(samples):
        distance = value - middle
        now = (distance > threshold) - (distance < -threshold)
        run = run + 1 if now and now == side else int(now != 0)
        side = now
        if run == SUSTAINED_POINTS:
            return index - SUSTAINED_POINTS + 1
    return None


def _threshold(baseline: Baseline) -> float:
    return max(THRESHOLD_SPREADS * baseline.spread, baseline.reach)


def _extreme_since(samples: Sequence[tuple[int, float]], extreme: float, baseline: Baseline) -> int:
    """Give the index of the sample since which all were well on the way to `extreme`, until it."""
    way = extreme - baseline.middle
    limit = max(_threshold(baseline), WELL_ON_THE_WAY * abs(way))
    since = next(index for index, (_, value) in enumerate(samples) if value == extreme)
    while since > 0 and (samples[since - 1][1] - baseline.middle) * (1 if way > 0 else -1) > limit:
        since -= 1
    return since


def _ramp_start(samples: Sequence[tuple[int, float]], start: int, baseline: Baseline, *, up: bool) -> int:
    """Walk back over samples that had already begun to leave, so that a ramp starts where it rises."""
    limit = max(RAMP_SPREADS * baseline.spread, baseline.reach)
    while start > 0:
        distance = samples[start - 1][1] - baseline.middle
        if (distance if up else -distance) <= limit:
            break
        start -= 1
    return start
