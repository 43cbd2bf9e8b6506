"""Following one investigation: a line a step, from wherever the journal stands, across workers' deaths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from inquest.domain.event import Event
from inquest.entrypoints.cli.exits import Exit, exit_of
from inquest.entrypoints.cli.lines import line_of
from inquest.entrypoints.http.investigations import shown
from inquest.errors import NotFound, StoreUnavailable
from inquest.store.database import Database
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal

POLL_S = 0.25
MAX_FOLLOW_S = 2 * 60 * 60.0
ENDED = frozenset({"succeeded", "failed", "cancelled", "deleting"})


class Watched(Protocol):
    """Where an investigation is followed: at the database, or through a running service."""

    async def row(self) -> Mapping[str, Any]:
        """Give it as the API shows it. Raises NotFound, StoreUnavailable."""

    async def events(self, after: int) -> tuple[Event, ...]:
        """Give its events with a seq above `after`. Raises StoreUnavailable."""


@dataclass(frozen=True)
class AtDatabase:
    """Follow at the database."""

    database: Database
    workspace: str
    investigation_id: str

    async def row(self) -> Mapping[str, Any]:
        """Give it as the API shows it."""
        return shown(await PostgresInvestigations(self.database, self.workspace).get(self.investigation_id))

    async def events(self, after: int) -> tuple[Event, ...]:
        """Give its events with a seq above `after`."""
        chronicle = await PostgresJournal(self.database, self.workspace).load(self.investigation_id)
        return chronicle.events[after:]


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


async def follow(watched: Watched, say: Callable[[Event], None]) -> Followed:
    """Tell `say` every event in order, until the investigation has ended.

    A database or service that is away for a while is waited for. Raises NotFound, and TimeoutError after
    MAX_FOLLOW_S.
    """
    seen, degraded = 0, False
    gives_up_at = time.monotonic() + MAX_FOLLOW_S
    while time.monotonic() < gives_up_at:
        try:
            row = await watched.row()
            events = await watched.events(seen)
        except StoreUnavailable:
            await asyncio.sleep(POLL_S)
            continue
        for event in events:
            say(event)
            degraded = degraded or _is_degraded(event)
        seen += len(events)
        if row["status"] in ENDED and not events:
            return Followed(row=row, degraded=degraded)
        if not events:
            await asyncio.sleep(POLL_S)
    msg = f"the investigation did not end in {MAX_FOLLOW_S:g} s; it goes on"
    raise TimeoutError(msg)


def _is_degraded(event: Event) -> bool:
    body = event.body
    return body.kind == "stage_committed" and body.update.stage == "diagnose" and bool(body.update.diagnosis.degraded)


def print_line(event: Event) -> None:
    """Print the line of `event`."""
    line = line_of(event)
    if line is not None:
        print(line.shown(), flush=True)


def print_json(event: Event) -> None:
    """Print `event` as one line of JSON."""
    print(event.canonical().decode(), flush=True)


def print_nothing(_event: Event) -> None:
    """Print nothing."""


def sayer(*, follow: bool, as_json: bool) -> Callable[[Event], None]:
    """Give what tells events as the options ask."""
    if not follow:
        return print_nothing
    return print_json if as_json else print_line


async def when_delivered(database: Database, investigation_id: str, *, timeout_s: float) -> dict[str, str]:
    """Wait until no delivery of the investigation is on its way; give each destination's last reference.

    Gives what is there when the time is up: a destination that fails is the report's matter, not ours.
    """
    gives_up_at = time.monotonic() + timeout_s
    while True:
        rows = await database.rows(_DELIVERIES, {"id": investigation_id})
        if not any(row.waiting for row in rows) or time.monotonic() >= gives_up_at:
            return {row.destination: row.reference or "" for row in rows}
        await asyncio.sleep(POLL_S)


_DELIVERIES = """
select t.destination, t.reference, exists (
    select 1 from inquest.delivery d where d.target_id = t.target_id and d.state in ('planned', 'reserved')
  ) as waiting
from inquest.delivery_target t where t.investigation_id = %(id)s order by t.destination
"""


async def find(database: Database, investigation_id: str) -> AtDatabase:
    """Find an investigation in any workspace: for the operator at the database. Raises NotFound."""
    row = await database.row(_WHERE, {"id": investigation_id})
    if row is None:
        msg = f"there is no investigation {investigation_id}"
        raise NotFound(msg)
    return AtDatabase(database, str(row.workspace), investigation_id)


_WHERE = "select workspace from inquest.investigation where investigation_id = %(id)s"
