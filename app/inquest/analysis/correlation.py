"""Whether two series rise and fall together: Spearman's rank correlation over their common samples.

Ranks, not values: one spike does not make a correlation, and a curve need not be a line.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.domain.signals import Point

MIN_COMMON_SAMPLES = 10
"""With fewer pairs a high coefficient is easily chance (|rho| of 0.6 at n = 10 has p of about 0.07)."""


def spearman(first: Sequence[Point], second: Sequence[Point]) -> float | None:
    """Give the rank correlation in [-1, 1] of the values at the times that both have.

    None when fewer than MIN_COMMON_SAMPLES times are common, or when one of them never moves there.
    """
    pairs = common_samples(first, second)
    if len(pairs) < MIN_COMMON_SAMPLES:
        return None
    return _pearson(_ranks([one for one, _ in pairs]), _ranks([other for _, other in pairs]))


def common_samples(first: Sequence[Point], second: Sequence[Point]) -> tuple[tuple[float, float], ...]:
    """Pair the values of both series at exactly the same times; gaps of either are left out."""
    values = {at: value for at, value in second if value is not None}
    return tuple((value, values[at]) for at, value in first if value is not None and at in values)


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank `values` from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for position in range(start, end + 1):
            ranks[order[position]] = (start + end) / 2 + 1
        start = end + 1
    return ranks


def _pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    mean_first, mean_second = sum(first) / len(first), sum(second) / len(second)
    product = sum((x - mean_first) * (y - mean_second) for x, y in zip(first, second, strict=True))
    scale = sqrt(sum((x - mean_first) ** 2 for x in first) * sum((y - mean_second) ** 2 for y in second))
    return None if scale == 0 else max(-1.0, min(1.0, product / scale))
