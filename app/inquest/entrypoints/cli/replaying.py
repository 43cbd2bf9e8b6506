"""replay: a journal, read again and compared with what it recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import typer

from inquest.destinations.shared.escape import terminal
from inquest.domain.event import RunCancelled
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.store_access import with_database
from inquest.errors import NotFound, ReplayMismatch
from inquest.ports import Chronicle
from inquest.runtime.replay import contents_wanted
from inquest.runtime.replay import replay as rebuild_and_compare
from inquest.settings import Settings
from inquest.store.database import Database
from inquest.store.journal import PostgresJournal


@dataclass(frozen=True)
class Replayed:
    """What a journal comes to when it is read again; `difference` is "" where nothing speaks against it.

    `digest` is "" for one that never began. `is_compared` is False for one that goes on or was cancelled: its
    journal holds no digest to compare with.
    """

    events: int
    digest: str = ""
    stop_reason: str = ""
    is_compared: bool = False
    difference: str = ""


def replay(settings: Settings, investigation: str, *, as_json: bool) -> int:
    """Rebuild an investigation from its journal and contents; say the first difference, or that there is none."""
    name = checked_id(investigation)

    async def rebuilt(database: Database) -> Replayed:
        return await replayed(database, (await following.find(database, name)).workspace, name)

    found = with_database(settings, rebuilt)
    return told(name, found, as_json=as_json)


def told(name: str, found: Replayed, *, as_json: bool) -> int:
    """Print what a replay found, in a line, and give the exit code."""
    equal = False if found.difference else True if found.is_compared else None
    if as_json:
        typer.echo(json.dumps({"id": name, "equal": equal, **asdict(found)}))
    elif found.difference:
        typer.echo(f"{name}: differs: {terminal(found.difference)}")
    elif not found.digest:
        typer.echo(f"{name}: was cancelled before it began; there is nothing to rebuild")
    else:
        compared = "as recorded" if found.is_compared else "but its end records nothing to compare that with"
        typer.echo(f"{name}: {found.events} events rebuild to {found.digest}, {compared}")
    return Exit.FAILED if found.difference else Exit.ANSWERED


async def replayed(database: Database, workspace: str, investigation: str) -> Replayed:
    """Read the journal, rebuild it and compare. Raises NotFound for an investigation that is not there."""
    journal = PostgresJournal(database, workspace)
    events = 0
    try:
        chronicle = await journal.load(investigation)
        events = len(chronicle.events)
        if not events:
            return Replayed(events=0, difference="nothing is recorded yet")
        if isinstance(chronicle.events[0].body, RunCancelled):
            return Replayed(events=events)  # it never began: its chain is whole, and there is no more to it
        contents = await _contents(journal, chronicle)
        found = await asyncio.to_thread(rebuild_and_compare, chronicle, contents)
    except ReplayMismatch as difference:
        return Replayed(events=events, difference=str(difference))
    return Replayed(
        events=events,
        digest=found.canonical_digest(),
        stop_reason=found.stop_reason,
        is_compared=chronicle.events[-1].body.kind in {"run_succeeded", "run_failed"},
    )


async def _contents(journal: PostgresJournal, chronicle: Chronicle) -> Mapping[str, bytes]:
    try:
        return await journal.content(contents_wanted(chronicle))
    except NotFound as missing:
        msg = f"missing from the store: {missing}"
        raise ReplayMismatch(msg) from missing
