"""verify and replay: a finished report and a finished journal, checked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import typer

from inquest.destinations.shared.escape import terminal
from inquest.destinations.verification import VerifyResult
from inquest.destinations.verification import verify as verify_path
from inquest.domain.projection import Projection
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.store_access import with_database
from inquest.errors import ConfigurationError, NotFound, ReplayMismatch
from inquest.ports import Chronicle
from inquest.runtime.replay import contents_wanted
from inquest.runtime.replay import replay as rebuild_and_compare
from inquest.settings import Settings
from inquest.store.database import Database
from inquest.store.journal import PostgresJournal


def verify(what: str, key: str | None, *, as_json: bool) -> int:
    """Check a report folder or file; print every problem, then what could not be proven."""
    path = Path(what)
    if not path.exists():
        msg = f"{what}: no such file or folder; give a report folder, a report.json, or an investigation's id"
        raise ConfigurationError(msg)
    return told(what, verify_path(path, key=key), as_json=as_json)


def told(what: str, found: VerifyResult, *, as_json: bool, **more: object) -> int:
    """Print what a check of `what` found, and give the exit code. `more` is for --json only."""
    if as_json:
        typer.echo(json.dumps({"what": what, **more, **found.model_dump(mode="json")}))
    else:
        for problem in found.problems:
            typer.echo(f"problem: {terminal(problem)}")
        for note in found.notes:
            typer.echo(f"note: {terminal(note)}")
        count = len(found.problems)
        problems = f"{count} problem" if count == 1 else f"{count} problems"
        typer.echo(f"{what}: {'verified' if found.ok else problems}")
    return Exit.ANSWERED if found.ok else Exit.FAILED


def replay(settings: Settings, investigation: str, *, as_json: bool) -> int:
    """Rebuild an investigation from its journal and contents; say the first difference, or that there is none."""
    name = checked_id(investigation)

    async def rebuilt(database: Database) -> tuple[Chronicle, Projection | str]:
        found_at = await following.find(database, name)
        return await replayed(database, found_at.workspace, name)

    chronicle, found = with_database(settings, rebuilt)
    ended = bool(chronicle.events) and chronicle.events[-1].body.kind in {"run_succeeded", "run_failed"}
    events = len(chronicle.events)
    if isinstance(found, str):
        line = f"{name}: differs: {terminal(found)}"
        answer: dict[str, object] = {"id": name, "equal": False, "difference": found, "events": events}
    else:
        digest = found.canonical_digest()
        compared = "as recorded" if ended else "but its end records nothing to compare that with"
        line = f"{name}: {events} events rebuild to {digest}, {compared}"
        equal = True if ended else None
        answer = {"id": name, "equal": equal, "digest": digest, "events": events, "stop_reason": found.stop_reason}
    typer.echo(json.dumps(answer) if as_json else line)
    return Exit.FAILED if isinstance(found, str) else Exit.ANSWERED


async def replayed(database: Database, workspace: str, investigation: str) -> tuple[Chronicle, Projection | str]:
    """Give the journal, and what it rebuilds; or the first difference from what it recorded."""
    journal = PostgresJournal(database, workspace)
    chronicle = await journal.load(investigation)
    try:
        contents = await journal.content(contents_wanted(chronicle))
        return chronicle, await asyncio.to_thread(rebuild_and_compare, chronicle, contents)
    except ReplayMismatch as difference:
        return chronicle, str(difference)
    except NotFound as missing:
        return chronicle, f"missing from the store: {missing}"
