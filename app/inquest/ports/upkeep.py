"""What every worker does once a second."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

from inquest.domain.value import Value


class Standing(Value):
    """How many investigations of one workspace are running and queued, and how long the oldest has waited."""

    workspace: str
    running: int
    queued: int
    oldest_queued_s: float


class Removed(Value):
    """How many rows of each kind retention removed; of an investigation, everything goes with it."""

    investigations: int = 0
    receipts: int = 0
    bodies: int = 0
    episodes: int = 0
    alerts: int = 0

    def and_(self, other: Removed) -> Removed:
        """Add two."""
        return Removed(**{name: getattr(self, name) + getattr(other, name) for name in Removed.model_fields})


class Retention(Protocol):
    """What removes whatever is older than it is kept. Both methods may raise StoreUnavailable."""

    async def begin(self) -> bool:
        """Say whether a pass is this caller's to do now."""

    async def remove(self) -> Removed:
        """Remove a bounded amount; nothing when nothing is left."""


class Sweep(Protocol):
    """What time alone changes. Each method does a bounded amount in one statement and gives how many rows.

    Every worker may call each at any time: what another holds is skipped. All may raise StoreUnavailable.
    """

    async def ring_investigations(self, *, take_expired: bool) -> int:
        """Ring for queued ones that have room, and for expired leases."""

    async def set_aside_broken(self, *, take_expired: bool) -> int:
        """End, failed, those that no worker can go on with, so that they keep nothing from running."""

    async def expire_deferred(self) -> int:
        """Cancel deferred ones whose episode ended over an hour ago."""

    async def admit_deferred(self) -> int:
        """Queue deferred ones that are due."""

    async def expire_interrupts(self) -> int:
        """Go on without an answer where nobody answered in time."""

    async def settle_episodes(self) -> int:
        """End quiet episodes, and count silent members as gone."""

    async def ring_deliveries(self) -> int:
        """Ring for targets with something due."""

    async def delete_dead_jobs(self) -> int:
        """Delete the engine's rows whose worker is gone."""

    async def purge_deleted(self) -> int:
        """Take away what is left of deleted investigations."""

    async def silent_watchdogs(self, silence: timedelta) -> Mapping[str, bool]:
        """Say for each intake that ever sent a Watchdog whether none came for `silence`."""
