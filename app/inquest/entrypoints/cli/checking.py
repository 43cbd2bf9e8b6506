"""verify: a finished report, checked offline."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from inquest.bundles.reading import is_bundle
from inquest.bundles.verification import verify_bundle
from inquest.destinations.shared.escape import terminal
from inquest.destinations.verification import VerifyResult
from inquest.destinations.verification import verify as verify_path
from inquest.entrypoints.cli.exits import Exit
from inquest.errors import ConfigurationError


def verify(what: str, key: str | None, *, as_json: bool) -> int:
    """Check a report folder, a file or a bundle; print every problem, then what could not be proven."""
    path = Path(what)
    if not path.exists():
        msg = f"{what}: no such file or folder; give a report folder, a report.json, a bundle, or an investigation's id"
        raise ConfigurationError(msg)
    found = verify_bundle(path, key=key) if is_bundle(path) else verify_path(path, key=key)
    return told(what, found, as_json=as_json)


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
