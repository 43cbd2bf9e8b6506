"""Functions of the samples in a window: one series, one evaluation time after the other."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from inquest.scenarios.promql.grid import Bill, Column, Grid
from inquest.scenarios.promql.samples import Series
from inquest.scenarios.promql.syntax import RangeFunction, Window

_EXTRAPOLATION_THRESHOLD = 1.1  # average sample distances; Prometheus' extrapolatedRate


@dataclass(frozen=True, slots=True)
class Slice:
    """Samples `low` to `high` (not included, never empty) of a series: those in [start_ms, end_ms]."""

    series: Series
    low: int
    high: int
    start_ms: int
    end_ms: int

    @property
    def values(self) -> array[float]:
        """The values, oldest first."""
        return self.series.values[self.low : self.high]


def column_of(function: RangeFunction, window: Window, series: Series, *, grid: Grid, bill: Bill) -> Column:
    """Give `function` of each window of `series`, None where the window has too few samples."""
    compute = _FUNCTIONS[function]
    return [None if piece is None else compute(piece) for piece in slices(window, series, grid=grid, bill=bill)]


def slices(window: Window, series: Series, *, grid: Grid, bill: Bill) -> Iterator[Slice | None]:
    """Give the samples in each closed interval [t - offset - range, t - offset], None for none."""
    times, total = series.times, len(series.times)
    low = high = 0
    for time in grid.times:
        end = time - window.selector.offset_ms
        start = end - window.range_ms
        while high < total and times[high] <= end:
            high += 1
        while low < high and times[low] < start:
            low += 1
        bill.add(1 + high - low)
        yield Slice(series, low, high, start, end) if low < high else None


def _delta(piece: Slice) -> float | None:
    return _extrapolated(piece, counter=False)


def _increase(piece: Slice) -> float | None:
    return _extrapolated(piece, counter=True)


def _rate(piece: Slice) -> float | None:
    return _extrapolated(piece, counter=True, per_s=(piece.end_ms - piece.start_ms) / 1000)


def _extrapolated(piece: Slice, *, counter: bool, per_s: float = 1.0) -> float | None:
    """Give the change over the window, stretched to its edges as Prometheus 2.x does; None for one sample.

    The result is divided by `per_s`, at the place where Prometheus does it: the last digit depends on it.
    """
    if piece.high - piece.low < 2:  # noqa: PLR2004 - a change needs two samples
        return None
    times, values = piece.series.times, piece.values
    change = values[-1] - values[0]
    if counter:
        change += sum(before for before, after in pairwise(values) if after < before)
    first_ms, last_ms = times[piece.low], times[piece.high - 1]
    sampled_s = (last_ms - first_ms) / 1000
    to_start_s = (first_ms - piece.start_ms) / 1000
    to_end_s = (piece.end_ms - last_ms) / 1000
    distance_s = sampled_s / (len(values) - 1)
    if counter and change > 0 and values[0] >= 0:
        # A counter is never negative: do not extrapolate to before it was zero.
        to_start_s = min(to_start_s, sampled_s * (values[0] / change))
    threshold_s = distance_s * _EXTRAPOLATION_THRESHOLD
    stretched_s = sampled_s
    stretched_s += to_start_s if to_start_s < threshold_s else distance_s / 2
    stretched_s += to_end_s if to_end_s < threshold_s else distance_s / 2
    return change * (stretched_s / sampled_s / per_s)


def _irate(piece: Slice) -> float | None:
    if piece.high - piece.low < 2:  # noqa: PLR2004 - a rate needs two samples
        return None
    before, last = piece.series.values[piece.high - 2], piece.series.values[piece.high - 1]
    change = last if last < before else last - before
    return change / ((piece.series.times[piece.high - 1] - piece.series.times[piece.high - 2]) / 1000)


def _average(piece: Slice) -> float:
    return sum(piece.values) / (piece.high - piece.low)


def _least(piece: Slice) -> float:
    numbers = [value for value in piece.values if not math.isnan(value)]
    return min(numbers) if numbers else math.nan


def _most(piece: Slice) -> float:
    numbers = [value for value in piece.values if not math.isnan(value)]
    return max(numbers) if numbers else math.nan


def _variance(piece: Slice) -> float:
    values = piece.values
    mean = sum(values) / len(values)
    return sum((value - mean) * (value - mean) for value in values) / len(values)


_FUNCTIONS: dict[RangeFunction, Callable[[Slice], float | None]] = {
    RangeFunction.RATE: _rate,
    RangeFunction.INCREASE: _increase,
    RangeFunction.DELTA: _delta,
    RangeFunction.IRATE: _irate,
    RangeFunction.AVG: _average,
    RangeFunction.MIN: _least,
    RangeFunction.MAX: _most,
    RangeFunction.SUM: lambda piece: sum(piece.values),
    RangeFunction.COUNT: lambda piece: float(piece.high - piece.low),
    RangeFunction.LAST: lambda piece: piece.series.values[piece.high - 1],
    RangeFunction.PRESENT: lambda _: 1.0,
    RangeFunction.STDDEV: lambda piece: math.sqrt(_variance(piece)),
    RangeFunction.STDVAR: _variance,
}


def newest_column(series: Series, *, offset_ms: int, lookback_ms: int, grid: Grid) -> Column:
    """Give the instant value of `series` at each time."""
    return [series.newest(time - offset_ms, time - offset_ms - lookback_ms) for time in grid.times]


def up_to(series: Series, horizon_ms: int) -> Series:
    """Give what of `series` had been recorded by `horizon_ms`: nothing later exists yet."""
    high = bisect_right(series.times, horizon_ms)
    if high == len(series.times):
        return series
    stale = series.stale[: bisect_right(series.stale, horizon_ms)]
    return Series(series.labels, series.times[:high], series.values[:high], stale)
