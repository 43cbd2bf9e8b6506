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
