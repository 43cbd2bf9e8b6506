"""Percentiles and rates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.errors import BenchBroken


def percentile(values: Sequence[float], percent: float) -> float:
    """Give the nearest-rank percentile: the least of `values` that `percent` of them do not exceed.

    Raises BenchBroken when there are none.
    """
    if not values:
        raise BenchBroken("nothing was measured")
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


def median(values: Sequence[float]) -> float:
    """Give the median, the lower one of two."""
    return percentile(values, 50)


def span(values: Sequence[float], unit: str = "") -> str:
    """Write the least and the greatest of `values`, as in "21-80 ms"."""
    return f"{short(min(values))}-{short(max(values))}{unit and ' '}{unit}"


def short(value: float) -> str:
    """Write three significant digits, and whole numbers from a hundred on."""
    if abs(value) >= 100:  # noqa: PLR2004  # three digits
        return f"{value:,.0f}"
    return f"{value:.3g}"
