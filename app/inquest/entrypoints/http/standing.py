"""What the database says of its own standing, in a bounded time: may an alert come in, and what runs and waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Generic, TypeVar

from inquest.entrypoints.http.exposition import OF_THE_SERVICE, exposition
from inquest.errors import StoreUnavailable
from inquest.ports import Standing
from inquest.store.database import Database
from inquest.store.halts import Halt, PostgresHalts
from inquest.store.lease import ClaimLimits
from inquest.store.sweep import PostgresSweep
from inquest.telemetry import Metrics

ANSWER_S = 3.0
"""Below the usual timeout of a probe or a scrape, whatever the database does."""

T = TypeVar("T")
_READY = "select to_regclass('inquest.intake_receipt') is not null as migrated, pg_is_in_recovery() as read_only"


class OneAtATime(Generic[T]):
    """Asks one question of the database: one asking at a time, whose answer everybody takes who asks meanwhile.

    A connection that hangs cannot be given up in time: the asking goes on behind, and takes no second one.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[T] | None = None

    async def answer(self, timeout_s: float = ANSWER_S) -> T:
        """Give the answer. Raises StoreUnavailable when there is none in time."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._asked())
        done, _ = await asyncio.wait({self._asking}, timeout=timeout_s)
        if not done:
            msg = f"the database did not answer in {timeout_s:g} s"
            raise StoreUnavailable(msg)
        return self._asking.result()

    async def _asked(self) -> T:
        return await self._ask()


class Probe:
    """Looks whether an alert can be accepted now."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._question = OneAtATime(self._look)

    async def missing(self) -> str | None:
        """Say what is missing for it; None when nothing is."""
        try:
            return await self._question.answer()
        except StoreUnavailable:
            return "the database does not answer"

    async def _look(self) -> str | None:
        found = await self._database.row(_READY, {})
        if found is None or not found.migrated:
            return "the database has no schema; run: inquest migrate"
        return "the database takes no writes (it is a standby)" if found.read_only else None


class StandingMetrics:
    """The metrics of the service, with those that only the database knows: what runs and waits, in all processes."""

    def __init__(self, database: Database, metrics: Metrics, workspaces: Iterable[str]) -> None:
        """`workspaces` are those of the configuration: they have a value from the first scrape on."""
        self._metrics = metrics
        self._known = set(workspaces)
        self._standings = OneAtATime(PostgresSweep(database, ClaimLimits()).standings)
        self._halts = OneAtATime(PostgresHalts(database).standing)

    async def exposition(self) -> bytes:
        """Give the text that Prometheus scrapes. While the database is away these gauges keep their last values."""
        try:
            self._set(await self._standings.answer(), await self._halts.answer())
        except StoreUnavailable:
            self._metrics.database_up.set(0)
        else:
            self._metrics.database_up.set(1)
        return exposition(self._metrics, OF_THE_SERVICE)

    def _set(self, standings: Sequence[Standing], halts: Sequence[Halt]) -> None:
        """Set the gauges; a workspace in which nothing runs or waits any more goes back to 0."""
        metrics = self._metrics
        named = {one.workspace: one for one in standings}
        for workspace in self._known | named.keys():
            found = named.get(workspace)
            metrics.running.labels(workspace).set(0 if found is None else found.running)
            metrics.queued.labels(workspace).set(0 if found is None else found.queued)
            metrics.halted.labels(workspace).set(int(any(halt.covers(workspace) for halt in halts)))
        self._known |= named.keys()
        metrics.oldest_queued_seconds.set(max((one.oldest_queued_s for one in standings), default=0))
