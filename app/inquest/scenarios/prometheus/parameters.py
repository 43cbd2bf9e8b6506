"""Times, durations and steps out of query parameters, refused in the words of Prometheus 2.x."""

from __future__ import annotations

import math

from inquest.errors import InquestError
from inquest.scenarios.moments import MAX_GO_SECONDS, Overflow, duration_ms, number, rfc3339_ns


class BadParameter(InquestError):
    """A request parameter that cannot be taken; the message is the error text of the body."""


def time_ms(text: str) -> int | None:
    """Read Unix seconds (decimals allowed) or RFC 3339 into epoch milliseconds; None when it is neither."""
    seconds = number(text)
    if seconds is not None:
        far = 10 * MAX_GO_SECONDS  # Prometheus reads such a time, but holds no sample near it
        return round(seconds * 1000) if math.isfinite(seconds) and abs(seconds) <= far else None
    nanoseconds = rfc3339_ns(text)
    return None if nanoseconds is None else nanoseconds // 1_000_000


def required_time(name: str, text: str) -> int:
    """Give a time that must be there. Raises BadParameter."""
    moment = time_ms(text)
    if moment is None:
        raise BadParameter(f'invalid parameter "{name}": cannot parse "{text}" to a valid timestamp')
    return moment


def optional_time(name: str, text: str, default_ms: int) -> int:
    """Give a time, or `default_ms` when it is not there. Raises BadParameter."""
    if not text:
        return default_ms
    moment = time_ms(text)
    if moment is None:
        reason = f"Invalid time value for '{name}': cannot parse \"{text}\" to a valid timestamp"
        raise BadParameter(f'invalid parameter "{name}": {reason}')
    return moment


def required_duration(name: str, text: str) -> int:
    """Give a duration that must be there. Raises BadParameter."""
    try:
        duration = duration_ms(text)
    except Overflow as overflow:
        raise BadParameter(f'invalid parameter "{name}": {overflow}') from overflow
    if duration is None:
        raise BadParameter(f'invalid parameter "{name}": cannot parse "{text}" to a valid duration')
    return duration
