"""Clocks and ids of a process: the only sources of time and chance in the product."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from inquest.ports import Clock


class SystemClock:
    """This machine's clock; for what no lease or deadline hangs on."""

    def now(self) -> datetime:
        """Give this moment in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Give seconds of a clock that never jumps."""
        return time.monotonic()


@dataclass(frozen=True)
class AnchoredClock:
    """The database's clock, read once and carried on by the monotonic one: a wrong wall clock changes nothing.

    `read_at` is the monotonic time at which the answer with `database_now` was read, so that this clock is never ahead.
    """

    database_now: datetime
    read_at: float

    def now(self) -> datetime:
        """Give the database's moment in UTC."""
        return self.database_now + timedelta(seconds=time.monotonic() - self.read_at)

    def monotonic(self) -> float:
        """Give seconds of a clock that never jumps."""
        return time.monotonic()


class FollowedClock:
    """A clock that goes by the best one that its process knows so far.

    What is built before the database answers begins with this machine's clock, and follows the database's from the
    first claim on: a wrong wall clock refuses no window and dates no evidence.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def follow(self, clock: Clock) -> None:
        """Go by `clock` from now on."""
        self._clock = clock

    def now(self) -> datetime:
        """Give this moment in UTC."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Give seconds of a clock that never jumps."""
        return self._clock.monotonic()


class RandomIds:
    """UUIDv7 (RFC 9562) as 32 hex digits: sorted by the millisecond of their making."""

    def new(self) -> str:
        """Give a fresh id."""
        stamp = time.time_ns() // 1_000_000
        chance = int.from_bytes(os.urandom(10), "big")
        high, low = chance >> 68, chance & ((1 << 62) - 1)
        return f"{stamp << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low:032x}"
