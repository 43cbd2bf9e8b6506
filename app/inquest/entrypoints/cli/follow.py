"""Following one investigation: a line a step, from wherever the journal stands, across workers' deaths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from inquest.domain.event import Event
from inquest.entrypoints.cli.exits import Exit, exit_of
from inquest.entrypoints.cli.lines import line_of
from inquest.errors import NotFound, StoreUnavailable
from inquest.store.database import Database
from inquest.store.investigations import InvestigationRow, PostgresInvestigations
from inquest.store.journal import PostgresJournal

POLL_S = 0.25
MAX_FOLLOW_S = 2 * 60 * 60.0
ENDED = frozenset({"succeeded", "failed", "cancelled", "deleting"})


@dataclass(frozen=True)
class Followed:
    """How it ended, and what a script wants to know of it."""

    row: InvestigationRow
    degraded: bool

    @property
    def exit(self) -> Exit:
        """Give the exit code."""
        return exit_of(status=self.row.status, verdict=self.row.verdict, degraded=self.degraded)


async def follow(database: Database, workspace: str, investigation_id: str, say: Callable[[Event], None]) -> Followed:
    """Tell `say` every event in order, until the investigation has ended.

    A database that is away for a while is waited for. Raises NotFound, and TimeoutError after MAX_FOLLOW_S.
    """
    journal, investigations = PostgresJournal(database, workspace), PostgresInvestigations(database, workspace)
    seen, degraded = 0, False
    gives_up_at = time.monotonic() + MAX_FOLLOW_S
    while time.monotonic() < gives_up_at:
        try:
            row = await investigations.get(investigation_id)
            events = (await journal.load(investigation_id)).events[seen:] if row.version > seen else ()
        except StoreUnavailable:
            await asyncio.sleep(POLL_S)
            continue
        for event in events:
            say(event)
            degraded = degraded or _is_degraded(event)
        seen += len(events)
        if row.status in ENDED and seen >= row.version:
            return Followed(row=row, degraded=degraded)
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
        print(line.shown(), flush=True)  # the command's output


def print_json(event: Event) -> None:
    """Print `event` as one line of JSON."""
    print(event.canonical().decode(), flush=True)  # the command's output


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


async def find(database: Database, investigation_id: str) -> str:
    """Give the workspace of an investigation. Raises NotFound: for the operator at the database."""
    row = await database.row(_WHERE, {"id": investigation_id})
    if row is None:
        msg = f"investigation {investigation_id}"
        raise NotFound(msg)
    return str(row.workspace)


_WHERE = "select workspace from inquest.investigation where investigation_id = %(id)s"
