"""Numbers and times as Go writes them: Prometheus and Loki share the forms."""

from __future__ import annotations

import math
from decimal import Decimal

# Go's shortest form switches to an exponent outside these magnitudes.
_EXPONENT_BELOW = 1e-6
_EXPONENT_FROM = 1e21


def sample_value(value: float) -> str:
    """Write the value of a sample: shortest digits, an exponent only when very small or large."""
    if value and math.isfinite(value) and not _EXPONENT_BELOW <= abs(value) < _EXPONENT_FROM:
        return scientific(value)
    return plain_value(value)


def plain_value(value: float) -> str:
    """Write a number with the fewest digits that read back the same, never with an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits = format(Decimal(repr(value)), "f")
    return digits.removesuffix(".0") if "." in digits else digits


def scientific(value: float) -> str:
    """Write a number with an exponent of at least two digits, as Go's 'e' format does."""
    if not math.isfinite(value):
        return plain_value(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = int(exponent) + len(digits) - 1
    mantissa = str(digits[0]) + ("." + "".join(map(str, digits[1:])) if len(digits) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def sample_time(ms: int) -> str:
    """Write epoch milliseconds as seconds: whole, or with three decimals."""
    sign, (seconds, rest) = "-" if ms < 0 else "", divmod(abs(ms), 1000)
    return f"{sign}{seconds}.{rest:03d}" if rest else f"{sign}{seconds}"
