"""When: a moment as somebody types it. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from inquest.domain.value import from_epoch_ms
from inquest.errors import ConfigurationError

_AGO = re.compile(r"(?P<parts>(?:[0-9]{1,9}[smhdw])+) ago")
_PART = re.compile(r"([0-9]+)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_EPOCH = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_FIRST_EPOCH_MS = 100_000_000_000
"""A number this large is in milliseconds: in seconds it would be the year 5138."""
_WAYS = "write 2026-03-01T10:00:00Z, 2h ago, 1h30m ago, or seconds since 1970"


def moment_of(text: str, *, now: datetime, option: str = "--at") -> datetime:
    """Read a moment in the past: RFC 3339 with a zone, "2h ago", or the epoch.

    Raises ConfigurationError naming `option`.
    """
    try:
        found = _read(text.strip(), now, option)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        msg = f"{option}: {text[:80]!r} is no moment: {_WAYS}"
        raise ConfigurationError(msg)
    if found > now:
        msg = f"{option}: {found:%Y-%m-%d %H:%M:%S} UTC is in the future"
        raise ConfigurationError(msg)
    return found


def _read(text: str, now: datetime, option: str) -> datetime | None:
    ago = _AGO.fullmatch(text)
    if ago:
        seconds = sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(ago["parts"]))
        return now - timedelta(seconds=seconds)
    if _EPOCH.fullmatch(text):
        number = float(text)
        return from_epoch_ms(round(number if number >= _FIRST_EPOCH_MS else number * 1000))
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        msg = f"{option}: {text[:80]} has no time zone: add Z for UTC, or +02:00"
        raise ConfigurationError(msg)
    return moment.astimezone(UTC)
