"""When the database was last away, and what a worker leaves alone for a while after it."""

from __future__ import annotations

import time
from datetime import timedelta

from inquest.telemetry import Recurring


class Outage:
    """After a lost connection, leases have expired whose owners live but could not renew them (design 10).

    Whoever begins cannot know whether the database was away until now, and takes it that it was.
    """

    def __init__(self, lease: timedelta) -> None:
        self._lease_s = lease.total_seconds()
        self._away = Recurring("database_away", over="database_answers")
        self._begin()

    def note(self, seen_by: str) -> None:
        """Take note that the database does not answer now; `seen_by` names who asked."""
        self._begin()
        self._away.happened(seen_by=seen_by)

    def answered(self) -> None:
        """Take note that the database answered everything that was asked."""
        self._away.passed()

    def _begin(self) -> None:
        self._over_at = time.monotonic() + self._lease_s

    @property
    def left_s(self) -> float:
        """Give how long it is until it is over, if the database goes on answering."""
        return max(0.0, self._over_at - time.monotonic())

    @property
    def over(self) -> bool:
        """Say whether it has answered for one lease length: an expired lease is a dead owner's again."""
        return time.monotonic() >= self._over_at
