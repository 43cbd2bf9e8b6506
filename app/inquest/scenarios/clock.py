"""The time that a recorded backend believes in."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from inquest.domain.value import epoch_ms


class RecordedClock:
    """Starts at `now` (timezone-aware) and ticks with the monotonic clock of this process.

    It is the horizon of the recording: what lies after it has not happened yet and is not shown.
    """

    def __init__(self, now: datetime, monotonic: Callable[[], float] = time.monotonic) -> None:
        if now.tzinfo is None:
            raise ValueError("the clock of a recorded backend needs a time zone")
        self._started_at = now
        self._monotonic = monotonic
        self._zero = monotonic()

    def now(self) -> datetime:
        """Give the present moment."""
        return self._started_at + timedelta(seconds=self._monotonic() - self._zero)

    def now_ms(self) -> int:
        """Give the present moment in epoch milliseconds."""
        return epoch_ms(self.now())
