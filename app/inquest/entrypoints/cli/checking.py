"""verify and replay: a finished report and a finished journal, checked."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from inquest.destinations.shared.escape import terminal
from inquest.destinations.verification import VerifyResult
from inquest.destinations.verification import verify as verify_path
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.store_access import with_database
from inquest.errors import ConfigurationError, ReplayMismatch
from inquest.runtime.replay import contents_wanted
from inquest.runtime.replay import replay as rebuild_and_compare
from inquest.settings import Settings
from inquest.store.database import Database
from inquest.store.journal import PostgresJournal


def verify(what: str, key: str | None, *, as_json: bool) -> int:
    """Check a report folder or file; print every problem, then what could not be proven."""
    path = Path(what)
    if not path.exists():
        msg = f"{what}: no such file or folder; give a report folder, a report.json, or a revision"
        raise ConfigurationError(msg)
    found = verify_path(path, key=key)
    _print(path, found, as_json=as_json)
    return Exit.ANSWERED if found.ok else Exit.FAILED


def _print(path: Path, found: VerifyResult, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"path": str(path), **found.model_dump(mode="json")}))
        return
    for problem in found.problems:
        typer.echo(f"problem: {terminal(problem)}")
    for note in found.notes:
        typer.echo(f"note: {terminal(note)}")
    typer.echo(f"{path}: {'verified' if found.ok else f'{len(found.problems)} problems'}")


def replay(settings: Settings, investigation: str, *, as_json: bool) -> int:
    """Rebuild an investigation from its journal and contents; say the first difference, or that there is none."""

    async def read(database: Database) -> tuple[str, int, str]:
        found_at = await following.find(database, investigation)
        journal = PostgresJournal(database, found_at.workspace)
        chronicle = await journal.load(investigation)
        contents = await journal.content(contents_wanted(chronicle))
        found = rebuild_and_compare(chronicle, contents)
        return found.canonical_digest(), len(chronicle.events), found.stop_reason

    try:
        digest, events, stop_reason = with_database(settings, read)
    except ReplayMismatch as difference:
        if as_json:
            typer.echo(json.dumps({"id": investigation, "equal": False, "difference": str(difference)}))
        else:
            typer.echo(f"{investigation}: differs: {terminal(str(difference))}")
        return Exit.FAILED
    if as_json:
        answer = {"id": investigation, "equal": True, "digest": digest, "events": events, "stop_reason": stop_reason}
        typer.echo(json.dumps(answer))
    else:
        typer.echo(f"{investigation}: {events} events rebuild to {digest}, as recorded")
    return Exit.ANSWERED
