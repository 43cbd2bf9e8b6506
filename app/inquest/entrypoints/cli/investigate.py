"""investigate: one alert, in this process, with a worker of its own for as long as it takes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import typer

from inquest.bootstrap.home import open_home
from inquest.bootstrap.observing import configure_telemetry
from inquest.bootstrap.workspace import Workspaces
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.in_process import Asked, Outcome, investigate_here, understood
from inquest.entrypoints.cli.intakes import chosen_intake
from inquest.entrypoints.cli.place import load_workspaces
from inquest.entrypoints.cli.remote_investigating import investigate_remotely
from inquest.entrypoints.cli.store_access import quiet
from inquest.entrypoints.cli.tell import teller
from inquest.settings import Settings
from inquest.telemetry import flush_reports


def investigate(settings: Settings, config: Path | None, given: Given, *, follow: bool, as_json: bool) -> int:
    """Take the alert in, investigate it, print the report; the exit code says how it ended."""
    telling = teller(follow=follow, as_json=as_json)
    if settings.url is not None:
        return asyncio.run(investigate_remotely(settings, given, telling, as_json=as_json))
    configure_telemetry(quiet(settings))
    workspaces = load_workspaces(settings, config)
    asked = _understood(given, workspaces)
    telling.note("database", str(settings.home) if settings.database_url is None else "INQUEST_DATABASE_URL")
    with open_home(settings) as home:
        outcome = asyncio.run(investigate_here(settings, home, workspaces, [asked], telling))
        _print(outcome, as_json=as_json)
    flush_reports()
    return outcome.followed.exit


def _understood(given: Given, workspaces: Workspaces) -> Asked:
    """Choose the intake and read the body. Raises ConfigurationError naming the option or the file."""
    intake = chosen_intake(given.intake, (one for workspace in workspaces.values() for one in workspace.intakes))
    return understood(given, intake, workspaces[intake.workspace])


def _print(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        delivered = {one.destination: {"state": one.state, "reference": one.reference} for one in outcome.deliveries}
        typer.echo(json.dumps({**outcome.followed.shown, "delivered": delivered}))
        return
    typer.echo(outcome.report)
    for one in outcome.deliveries:
        typer.echo(f"{one.destination}: {one.state} {one.reference}".rstrip())
