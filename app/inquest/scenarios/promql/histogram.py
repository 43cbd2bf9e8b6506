"""histogram_quantile over classic buckets, as Prometheus 2.x computes it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from inquest.scenarios.promql.grid import Column, Vector
from inquest.scenarios.promql.samples import NAME, Labels


def quantile_of(quantiles: list[float], buckets: Vector) -> Vector:
    """Give the quantile of each histogram in `buckets`: the series that differ in `le` alone."""
    histograms: dict[Labels, list[tuple[float, Column]]] = {}
    for labels, column in buckets.columns.items():
        upper = _bound(dict(labels).get("le", ""))
        if upper is None:
            continue  # Prometheus skips a bucket whose bound it cannot read
        rest = tuple(pair for pair in labels if pair[0] not in ("le", NAME))
        histograms.setdefault(rest, []).append((upper, column))
    result = Vector()
    for labels, series in histograms.items():
        column = [
            _at(quantile, ((upper, value) for upper, values in series if (value := values[index]) is not None))
            for index, quantile in enumerate(quantiles)
        ]
        result.add(labels, column)
    return result


def _bound(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _at(quantile: float, buckets: Iterable[tuple[float, float]]) -> float | None:
    merged: dict[float, float] = {}
    for upper, count in buckets:
        merged[upper] = merged.get(upper, 0.0) + count
    if not merged:
        return None
    if math.isnan(quantile):
        return math.nan
    if not 0 <= quantile <= 1:
        return math.copysign(math.inf, quantile)
    return _interpolated(quantile, sorted(merged.items()))


def _interpolated(quantile: float, buckets: list[tuple[float, float]]) -> float:
    """Interpolate in the bucket that holds the rank. `buckets` are (upper bound, cumulative count), sorted."""
    uppers = [upper for upper, _ in buckets]
    counts = _monotonic([count for _, count in buckets])
    if uppers[-1] != math.inf or len(uppers) < 2 or counts[-1] == 0:  # noqa: PLR2004 - +Inf and one more
        return math.nan
    rank = quantile * counts[-1]
    last = len(counts) - 1
    chosen = next((index for index in range(last) if counts[index] >= rank), last)
    if chosen == last:
        return uppers[last - 1]  # nothing is known above the highest finite bound
    if chosen == 0:
        return _in_first(uppers[0], rank, counts[0])
    below, lower = counts[chosen - 1], uppers[chosen - 1]
    return lower + (uppers[chosen] - lower) * ((rank - below) / (counts[chosen] - below))


def _in_first(upper: float, rank: float, count: float) -> float:
    """Interpolate from zero: the lowest bucket has no lower bound unless its upper one is negative."""
    if upper <= 0:
        return upper
    return upper * (rank / count) if count else math.nan


def _monotonic(counts: list[float]) -> list[float]:
    """Raise each count to the highest before it: buckets scraped at different moments may disagree."""
    highest, result = -math.inf, []
    for count in counts:
        highest = max(highest, count)
        result.append(highest)
    return result
