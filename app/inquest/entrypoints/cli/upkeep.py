"""migrate and config check."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from inquest.bootstrap.claiming import load_models
from inquest.bootstrap.home import open_database
from inquest.bootstrap.workspace import build_workspaces
from inquest.configuration.file import read
from inquest.domain.delivery import destination_of
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.place import configuration_path
from inquest.errors import ConfigurationError
from inquest.runtime.clock import SystemClock
from inquest.runtime.keys import InstallationKey
from inquest.settings import Settings
from inquest.store import migrate as migrations


def migrate(settings: Settings) -> None:
    """Bring the database to this release, and say to which version."""
    with open_database(settings, upgrade=True):
        typer.echo(f"the database is at version {migrations.head()}")


def check_configuration(settings: Settings, config: Path | None, *, as_json: bool) -> int:
    """Read the file and every secret that it names, and say every problem, a line each."""
    path = configuration_path(settings, config)
    try:
        found = _built(path)
    except ConfigurationError as error:
        if not as_json:
            raise
        typer.echo(json.dumps({"file": str(path), "ok": False, "problems": str(error).splitlines()}))
        return Exit.USAGE
    if as_json:
        typer.echo(json.dumps({"file": str(path), "ok": True, "workspaces": found}))
        return Exit.ANSWERED
    typer.echo(f"{path}: no problems")
    for one in found:
        for field, value in one.items():
            words = ", ".join(value) if isinstance(value, list) else value
            typer.echo(f"  {field + ':':<14}{words or 'none'}")
    return Exit.ANSWERED


def _built(path: Path) -> list[dict[str, str | list[str]]]:
    """Build everything that the file names, and list it by workspace. No connection is opened."""
    nobody = InstallationKey(bytes(32))
    built = build_workspaces(read(path), key=nobody, clock=SystemClock(), base=path.absolute().parent)
    load_models(built)  # what stops a worker at its start is told here; without a model nothing is imported
    return [
        {
            "workspace": name,
            "intakes": [one.name for one in workspace.intakes],
            "integrations": [one.name for one in workspace.connectors],
            "services": [one.name for one in workspace.catalogue],
            "destinations": sorted({destination_of(message) for message in workspace.destinations}),
            "investigator": ", ".join(workspace.model.names) if workspace.model else "analyst",
        }
        for name, workspace in built.items()
    ]
