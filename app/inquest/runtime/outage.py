"""When the database was last away, and what a worker leaves alone for a while after it."""

from __future__ import annotations

import time
from datetime import timedelta


class Outage:
    """After a lost connection, leases have expired whose owners live but could not renew them (design 10).

    Whoever begins cannot know whether the database was away until now, and takes it that it was.
    """

    def __init__(self, lease: timedelta) -> None:
        self._lease_s = lease.total_seconds()
        self.note()

    def note(self) -> None:
        """Take note that the database does not answer now."""
        self._over_at = time.monotonic() + self._lease_s

    @property
    def over(self) -> bool:
        """Say whether it has answered for one lease length: an expired lease is a dead owner's again."""
        return time.monotonic() >= self._over_at
