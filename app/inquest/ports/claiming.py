"""Claims and leases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from inquest.domain.fence import Fence
from inquest.domain.investigation import Identity


class Claimed(Protocol):
    """The right to act on one investigation (its value is `store.lease.Claimed`, which says the fields)."""

    @property
    def fence(self) -> Fence:
        """Give the fence of this claim."""

    @property
    def identity(self) -> Identity:
        """Give the investigation's identity."""

    @property
    def version(self) -> int:
        """Give the aggregate's version; 0 when nothing is recorded yet."""

    @property
    def exhausted(self) -> bool:
        """Say that the attempts are used up: end it `failed` with the evidence so far, and do nothing else."""

    @property
    def started_at(self) -> datetime:
        """Give the moment of the first claim of all, by the database's clock."""

    @property
    def now(self) -> datetime:
        """Give the moment of this claim, by the database's clock."""


class Claims(Protocol):
    """Who may act, decided by the store. Every method may raise StoreUnavailable."""

    async def claim(self, owner_id: str, *, lease: timedelta, take_expired: bool) -> Claimed | None:
        """Take what may run next, whichever id a bell named; None changes nothing.

        `take_expired=False` leaves expired leases to their owners.
        """

    async def release(self, fence: Fence) -> None:
        """Let go without a charge, and ring. Raises FenceLost, NotFound."""

    async def release_unanswered(self, fence: Fence) -> None:
        """Let go because the database did not answer: free at first, without progress charged in the end.

        Raises FenceLost, NotFound.
        """

    async def fail_attempt(self, fence: Fence) -> datetime:
        """End the attempt by a stage error; gives when the next may begin. Raises FenceLost, NotFound."""


class Renewal(StrEnum):
    """What became of one lease in a renewal."""

    RENEWED = "renewed"
    LOCKED = "locked"
    """Somebody holds its row: nothing was changed, it is to be asked for again."""
    LOST = "lost"
    """The fence is another's, or nobody's any more."""


class LeaseLine(Protocol):
    """A connection of the lease thread's own. It blocks, and belongs to one thread, but for `abort`."""

    def renew(self, fences: Sequence[Fence], lease: timedelta) -> Mapping[Fence, Renewal]:
        """Lengthen these leases and give the answer for each; waits for no row.

        Raises StoreUnavailable.
        """

    def moved(self, timeout_s: float) -> frozenset[str]:
        """Wait at most `timeout_s` for investigations whose fence was moved by a write from no owner.

        Gives their ids, as hints: a renewal tells the truth. Raises StoreUnavailable.
        """

    def abort(self) -> None:
        """Break the connection, from another thread: who waits there gets StoreUnavailable. Never raises."""

    def close(self) -> None:
        """Close the connection. Never raises."""
