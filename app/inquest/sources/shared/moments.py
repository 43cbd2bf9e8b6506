"""Moments as senders write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

OLDEST_YEAR = 1970
NEWEST_YEAR = 2200
"""A year outside of these is a sender's mistake, not a time: the moment is None, with a warning."""

_RFC3339 = re.compile(
    r"(\d{4,6})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,18}))?(?:([Zz])|([+-])(\d\d):?(\d\d))", re.ASCII
)
_LEAP_SECOND = 60

_EPOCH = re.compile(r"(\d{1,19})(?:\.(\d{1,9})\d{0,9})?", re.ASCII)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_PER_SECOND = ((10**11, 1), (10**14, 10**3), (10**17, 10**6), (10**20, 10**9))
"""Up to which number a unit is meant, and how many of it a second has: seconds until the year 5138, milliseconds
from March 1973, microseconds, nanoseconds. Nobody's alert is older than 1973."""
_END_NS = (datetime(NEWEST_YEAR + 1, 1, 1, tzinfo=UTC) - _BEGINNING) // timedelta(seconds=1) * 10**9


def read_rfc3339(written: object, warnings: list[str], name: str) -> datetime | None:
    """Read RFC 3339 with up to nanoseconds, which are cut to microseconds, and any offset; gives UTC.

    Year 1 is how Go writes "not set": None, without a warning. What cannot be read is None with a warning.
    """
    if written is None or written == "":
        return None
    found = _RFC3339.fullmatch(written) if isinstance(written, str) else None
    if found is None:
        warnings.append(f"{name} is no RFC 3339 time")
        return None
    year, month, day, hour, minute, second = (int(found[group]) for group in range(1, 7))
    if year == 1:
        return None
    if not OLDEST_YEAR <= year <= NEWEST_YEAR:
        warnings.append(f"{name} is outside the years {OLDEST_YEAR} to {NEWEST_YEAR}")
        return None
    offset = timedelta()
    if found[9]:
        offset = timedelta(hours=int(found[10]), minutes=int(found[11])) * (-1 if found[9] == "-" else 1)
    leap = int(second == _LEAP_SECOND)
    microsecond = int((found[7] or "0").ljust(6, "0")[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second - leap, microsecond, tzinfo=timezone(offset))
    except ValueError:
        warnings.append(f"{name} is no RFC 3339 time")
        return None
    return (moment + timedelta(seconds=leap)).astimezone(UTC)


def read_epoch(written: object, warnings: list[str], name: str) -> datetime | None:
    """Read seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by magnitude; gives UTC.

    A number or its text, with a fraction or without; finer than a microsecond is cut. Nothing, "" and 0 are "not
    set": None, without a warning. What cannot be read is None with a warning.
    """
    if written is None or written == "" or (written == 0 and not isinstance(written, bool)):
        return None
    found = _EPOCH.fullmatch(_decimal(written))
    if found is None:
        warnings.append(f"{name} is no epoch time")
        return None
    whole = int(found[1])
    per_second = next(count for most, count in _PER_SECOND if whole < most)
    nanoseconds = (whole * 10**9 + int((found[2] or "0").ljust(9, "0"))) // per_second
    if not nanoseconds:
        return None
    if nanoseconds >= _END_NS:
        warnings.append(f"{name} is outside the years {OLDEST_YEAR} to {NEWEST_YEAR}")
        return None
    return _BEGINNING + timedelta(microseconds=nanoseconds // 1_000)


def _decimal(written: object) -> str:
    """Write a number without an exponent; what is none gives a text that is not read."""
    match written:
        case str():
            return written.strip()
        case int() if not isinstance(written, bool) and 0 <= written < _PER_SECOND[-1][0]:
            return str(written)
        case float():
            return f"{written:.6f}"
        case _:
            return ""
