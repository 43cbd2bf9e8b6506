"""migrate and config check."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from inquest.bootstrap.home import open_home
from inquest.bootstrap.workspace import build_workspaces
from inquest.configuration.file import read
from inquest.entrypoints.cli.place import configuration_path
from inquest.runtime.clock import SystemClock
from inquest.runtime.keys import InstallationKey
from inquest.settings import Settings
from inquest.store import migrate as migrations


def migrate(settings: Settings) -> None:
    """Bring the database to this release, and say to which version."""
    if settings.database_url is not None:
        migrations.upgrade(settings.database_url.get_secret_value())
    else:
        with open_home(settings):
            pass
    typer.echo(f"the database is at version {migrations.head()}")


def check_configuration(settings: Settings, config: Path | None, *, as_json: bool) -> None:
    """Read the file and every secret that it names. Raises ConfigurationError with every problem, a line each."""
    path = configuration_path(settings, config)
    configuration = read(path)
    nobody = InstallationKey(bytes(32))
    built = build_workspaces(configuration, key=nobody, clock=SystemClock(), base=path.absolute().parent)
    found = [
        {
            "workspace": name,
            "intakes": [one.name for one in workspace.intakes],
            "integrations": [one.name for one in workspace.connectors],
            "services": [one.name for one in workspace.catalogue],
            "destinations": sorted(workspace.destinations),
            "investigator": ", ".join(workspace.model.names) if workspace.model else "analyst",
        }
        for name, workspace in built.items()
    ]
    if as_json:
        typer.echo(json.dumps({"file": str(path), "ok": True, "workspaces": found}))
        return
    typer.echo(f"{path}: no problems")
    for one in found:
        for field, value in one.items():
            words = ", ".join(value) if isinstance(value, list) else value
            typer.echo(f"  {field + ':':<14}{words or 'none'}")
