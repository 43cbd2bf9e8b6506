"""Time and chance."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """Give this moment in UTC. In the worker it is the database's clock plus monotonic progress."""

    def monotonic(self) -> float:
        """Give seconds of a clock that never jumps, for durations."""


class Ids(Protocol):
    """The only source of chance."""

    def new(self) -> str:
        """Give a fresh id: 32 hex digits, time-ordered (UUIDv7 without dashes)."""
