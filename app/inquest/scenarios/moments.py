"""Times and durations as the Go servers read them from a parameter."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from inquest.domain.value import epoch_ms
from inquest.errors import InquestError

MAX_GO_SECONDS: Final = 9_223_372_036
"""The longest duration of Go, in whole seconds: an int64 of nanoseconds."""

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?[iI]nf|[nN]a[nN]")
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)")
_DURATION = re.compile(
    r"(?:(\d{1,18})y)?(?:(\d{1,18})w)?(?:(\d{1,18})d)?(?:(\d{1,18})h)?(?:(\d{1,18})m(?!s))?(?:(\d{1,18})s)?(?:(\d{1,18})ms)?"
)
_UNIT_MS = (365 * 86_400_000, 7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1000, 1)


class Overflow(InquestError):
    """A duration that Go cannot hold."""


def number(text: str) -> float | None:
    """Read a decimal number as Go's ParseFloat does, near enough; None when it is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def rfc3339_ns(text: str) -> int | None:
    """Read an RFC 3339 time into epoch nanoseconds; None when it is none, the 31st of February included."""
    parts = _RFC3339.fullmatch(text)
    if parts is None:
        return None
    day, clock, fraction, zone = parts.groups()
    offset = "+00:00" if zone in "Zz" else zone
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return epoch_ms(moment) * 1_000_000 + int((fraction or "").ljust(9, "0"))


def duration_ms(text: str) -> int | None:
    """Read seconds (decimals allowed) or `1h30m` into milliseconds; None when it is neither.

    Raises Overflow for a number of seconds that Go cannot hold.
    """
    seconds = number(text)
    if seconds is not None:
        if not abs(seconds) <= MAX_GO_SECONDS:  # NaN too
            raise Overflow(f'cannot parse "{text}" to a valid duration. It overflows int64')
        return round(seconds * 1000)
    return unit_duration_ms(text)


def unit_duration_ms(text: str) -> int | None:
    """Read `1h30m` and its like into milliseconds; None when it is none."""
    parts = _DURATION.fullmatch(text)
    if not text or parts is None:
        return None
    total = sum(int(part) * unit for part, unit in zip(parts.groups(), _UNIT_MS, strict=True) if part)
    return total if total <= MAX_GO_SECONDS * 1000 else None
