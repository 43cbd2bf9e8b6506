"""A bound on waiting, by the monotonic clock."""

import time

from inquest.store.embedded.errors import EmbeddedPostgresError

POLL_S = 0.02


class Deadline:
    """A point in time `seconds` ahead, shared by all the waits of one start or stop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining_s(self) -> float:
        """Give the seconds that are left; 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())

    def pause(self, waiting_for: str) -> None:
        """Sleep one polling interval, or raise EmbeddedPostgresError when the deadline has passed."""
        if not self.remaining_s():
            raise EmbeddedPostgresError(f"gave up after {self._seconds:g} s of waiting for {waiting_for}")
        time.sleep(POLL_S)
