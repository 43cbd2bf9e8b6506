"""Following one investigation: a line a step, from wherever the journal stands, across workers' deaths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from inquest.domain.event import Event
from inquest.entrypoints.cli.exits import Exit, exit_of
from inquest.entrypoints.cli.tell import Teller
from inquest.entrypoints.cli.waiting import how_to_answer
from inquest.entrypoints.shown import shown
from inquest.errors import InquestError, NotFound, StoreUnavailable
from inquest.store.database import Database
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal

POLL_S = 0.25
MAX_FOLLOW_S = 2 * 60 * 60.0
ENDED = frozenset({"succeeded", "failed", "cancelled", "deleting"})
LOOKED_AT = frozenset({"id", "status", "verdict", "not_before", "defer_reason"})
"""What of a row is looked at here."""


class StillGoing(InquestError):
    """Nobody waits any longer; the investigation itself goes on."""


class Watched(Protocol):
    """Where an investigation is followed: at the database, or through a running service."""

    async def row(self) -> Mapping[str, Any]:
        """Give it as the API shows it. Raises NotFound, StoreUnavailable."""

    async def events(self, after: int) -> tuple[Event, ...]:
        """Give its events with a seq above `after`. Raises StoreUnavailable."""


class AtDatabase:
    """Follow at the database."""

    def __init__(self, database: Database, workspace: str, investigation_id: str) -> None:
        self.workspace = workspace
        self.investigation_id = investigation_id
        self._rows = PostgresInvestigations(database, workspace)
        self._journal = PostgresJournal(database, workspace)
        self._version = 0

    async def row(self) -> Mapping[str, Any]:
        """Give it as the API shows it."""
        found = await self._rows.get(self.investigation_id)
        self._version = found.version
        return shown(found)

    async def events(self, after: int) -> tuple[Event, ...]:
        """Give its events with a seq above `after`; the journal is read only when the row says that it grew."""
        if self._version <= after:
            return ()
        return (await self._journal.load(self.investigation_id)).events[after:]


@dataclass(frozen=True)
class Followed:
    """How it ended, and what a script wants to know of it."""

    row: Mapping[str, Any]
    degraded: bool

    @property
    def id(self) -> str:
        """Give the investigation's id."""
        return str(self.row["id"])

    @property
    def exit(self) -> Exit:
        """Give the exit code."""
        return exit_of(status=str(self.row["status"]), verdict=str(self.row["verdict"]), degraded=self.degraded)

    @property
    def shown(self) -> dict[str, Any]:
        """Give what --json prints of it."""
        return {**self.row, "degraded": self.degraded}


async def follow(watched: Watched, teller: Teller, *, patience_s: float = MAX_FOLLOW_S) -> Followed:
    """Tell `teller` every event in order, until the investigation has ended.

    A database or service that is away for a while is waited for. Raises NotFound, and StillGoing after
    `patience_s`.
    """
    seen, degraded, standing, away = 0, False, "", False
    gives_up_at = time.monotonic() + patience_s
    while time.monotonic() < gives_up_at:
        try:
            row = await watched.row()
            events = await watched.events(seen)
        except StoreUnavailable as error:
            if not away:
                teller.note("waiting", str(error))
            away = True
            await asyncio.sleep(POLL_S)
            continue
        away = False
        for event in events:
            teller.event(event)
            degraded = degraded or _is_degraded(event)
        seen += len(events)
        if row["status"] in ENDED and not events:
            return Followed(row=row, degraded=degraded)
        if standing != (standing := _standing(row)) and standing:
            tell = teller.asks if row["status"] == "waiting" else teller.note
            tell(str(row["status"]), standing)
        if not events:
            await asyncio.sleep(POLL_S)
    msg = f"the investigation did not end in {patience_s:g} s; it goes on"
    raise StillGoing(msg)


def _standing(row: Mapping[str, Any]) -> str:
    """Say what an investigation waits for, "" when it waits for nothing."""
    match row["status"]:
        case "queued":
            return f"not before {row['not_before']}" if row["not_before"] else "for a worker"
        case "deferred":
            return f"until {row['not_before']}: {row['defer_reason']}"
        case "waiting":
            return f"for an answer: {how_to_answer(row)}" if row.get("question") else "for an answer"
        case _:
            return ""


def _is_degraded(event: Event) -> bool:
    body = event.body
    return body.kind == "stage_committed" and body.update.stage == "diagnose" and bool(body.update.diagnosis.degraded)


@dataclass(frozen=True)
class Delivery:
    """Where one destination's deliveries stand. `reference` is "" before anything arrived there."""

    destination: str
    state: str
    reference: str


async def when_delivered(database: Database, investigation_id: str, *, timeout_s: float) -> tuple[Delivery, ...]:
    """Wait until no delivery of the investigation is on its way; give where each destination's newest one stands.

    Gives what is there when the time is up: a destination that fails is the report's matter, not ours.
    """
    gives_up_at = time.monotonic() + timeout_s
    while True:
        rows = await database.rows(_DELIVERIES, {"id": investigation_id})
        if not any(row.waiting for row in rows) or time.monotonic() >= gives_up_at:
            return tuple(Delivery(row.destination, row.state or "none", row.reference or "") for row in rows)
        await asyncio.sleep(POLL_S)


_DELIVERIES = """
select t.destination, t.reference, exists (
    select 1 from inquest.delivery d where d.target_id = t.target_id and d.state in ('planned', 'reserved')
  ) as waiting, (
    select d.state from inquest.delivery d where d.target_id = t.target_id order by d.revision desc limit 1
  ) as state
from inquest.delivery_target t where t.investigation_id = %(id)s order by t.destination
"""


async def find(database: Database, investigation_id: str) -> AtDatabase:
    """Find an investigation in any workspace: for the operator at the database. Raises NotFound."""
    row = await database.row(_WHERE, {"id": investigation_id})
    if row is None:
        msg = f"investigation {investigation_id}"
        raise NotFound(msg)
    return AtDatabase(database, str(row.workspace), investigation_id)


_WHERE = "select workspace from inquest.investigation where investigation_id = %(id)s"
