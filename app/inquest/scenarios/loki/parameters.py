"""Parameters of Loki's endpoints, refused in Loki's words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inquest.errors import InquestError
from inquest.scenarios import bounds
from inquest.scenarios.http import Request
from inquest.scenarios.moments import Overflow, duration_ms, number, rfc3339_ns

_DEFAULT_SINCE_NS = 3600 * 1_000_000_000
_SECONDS_DIGITS = 10  # Loki: an integer of at most ten digits is seconds, a longer one nanoseconds
_MAX_INT64 = 2**63 - 1
_STEPS = 250  # the default step divides the range into so many


class BadParameter(InquestError):
    """A parameter that cannot be taken; the message is the body of a 400."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """[start_ns, end_ns) in epoch nanoseconds."""

    start_ns: int
    end_ns: int


def time_range(request: Request, now_ns: int) -> TimeRange:
    """Give the range asked for, by default the last hour. Raises BadParameter."""
    end = moment_ns(request.first("end"), now_ns)
    since = request.first("since")
    before = (_duration(since) * 1_000_000) if since else _DEFAULT_SINCE_NS
    start = moment_ns(request.first("start"), min(end, now_ns) - before)
    if end <= start:
        raise BadParameter("end timestamp must not be before or equal to start time")
    if end - start > bounds.MAX_LOG_RANGE_MS * 1_000_000:
        hours = (end - start) // (3600 * 1_000_000_000)
        raise BadParameter(f"the query time range exceeds the limit (query length: {hours}h0m0s, limit: 30d1h)")
    return TimeRange(start, end)


def moment_ns(text: str, default_ns: int) -> int:
    """Read seconds with decimals, whole seconds or nanoseconds, or RFC 3339. Raises BadParameter."""
    if not text:
        return default_ns
    seconds = number(text) if "." in text else None
    if seconds is not None and math.isfinite(seconds):
        return round(seconds * 1000) * 1_000_000
    if (moment := rfc3339_ns(text)) is not None:
        return moment
    whole = _integer(text)
    return whole * 1_000_000_000 if len(text) <= _SECONDS_DIGITS else whole


def step_ms(request: Request, asked: TimeRange) -> int:
    """Give the step in milliseconds. Raises BadParameter."""
    text = request.first("step")
    if not text:
        return max((asked.end_ns - asked.start_ns) // 1_000_000_000 // _STEPS, 1) * 1000
    step = _duration(text)
    if step <= 0:
        raise BadParameter(
            "zero or negative query resolution step widths are not accepted. Try a positive integer",
        )
    if (asked.end_ns - asked.start_ns) // (step * 1_000_000) > bounds.MAX_RANGE_POINTS:
        raise BadParameter(
            "exceeded maximum resolution of 11,000 points per time series. "
            "Try increasing the value of the step parameter",
        )
    return step


def entry_limit(request: Request) -> int:
    """Give how many lines are wanted. Raises BadParameter."""
    text = request.first("limit")
    limit = _integer(text) if text else bounds.DEFAULT_LOG_ENTRIES
    if limit <= 0:
        raise BadParameter("limit must be a positive value")
    if limit > bounds.MAX_LOG_ENTRIES:
        raise BadParameter(
            "max entries limit per query exceeded, limit > max_entries_limit_per_query "
            f"({limit} > {bounds.MAX_LOG_ENTRIES})",
        )
    return limit


def is_forward(request: Request) -> bool:
    """Say whether the oldest lines come first. Raises BadParameter."""
    text = request.first("direction")
    if text.upper() not in ("", "FORWARD", "BACKWARD"):
        raise BadParameter(f"invalid direction '{text}'")
    return text.upper() == "FORWARD"


def _integer(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdecimal()):
        raise BadParameter(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(digits) > len(str(_MAX_INT64)) or abs(int(text)) > _MAX_INT64:
        raise BadParameter(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def _duration(text: str) -> int:
    try:
        duration = duration_ms(text)
    except Overflow as refused:
        raise BadParameter(str(refused)) from refused
    if duration is None:
        raise BadParameter(f'cannot parse "{text}" to a valid duration')
    return duration
