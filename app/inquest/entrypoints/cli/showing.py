"""show: one investigation, and its report."""

from __future__ import annotations

import json

import typer

from inquest.bootstrap.reporting import Reporting
from inquest.destinations.shared.escape import plain
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.store_access import with_database
from inquest.entrypoints.cli.tell import teller
from inquest.errors import NotFound
from inquest.settings import Settings
from inquest.store.database import Database


def show_one(settings: Settings, investigation: str, *, follow: bool, as_json: bool) -> int:
    """Print an investigation's report, or its state while there is none. `follow` waits for its end.

    The exit code is the investigation's when it was followed or has ended, else 0.
    """
    name = checked_id(investigation)

    async def show(database: Database) -> int:
        return await _show(database, name, follow=follow, as_json=as_json)

    return with_database(settings, show)


async def _show(database: Database, investigation: str, *, follow: bool, as_json: bool) -> int:
    watched = await following.find(database, investigation)
    row = await watched.row()
    if not follow and row["status"] not in following.ENDED:
        waits = f": {row['defer_reason']}" if row["defer_reason"] else ""
        typer.echo(json.dumps(row) if as_json else f"{investigation} is {row['status']}{waits}")
        return Exit.ANSWERED
    ended = await following.follow(watched, teller(follow=follow, as_json=as_json))
    if as_json:
        typer.echo(json.dumps(ended.shown))
        return ended.exit
    typer.echo(await report_of(Reporting(database), watched.workspace, ended))
    return ended.exit


async def report_of(reporting: Reporting, workspace: str, ended: following.Followed) -> str:
    """Give the report of an ended investigation for a terminal, or that there is none."""
    try:
        return terminal_markdown(await reporting.form(workspace, ended.id, "md"))
    except NotFound:
        return without_report(ended)


def without_report(ended: following.Followed) -> str:
    """Say how an investigation ended of which there is no report."""
    status, verdict = ended.row["status"], ended.row["verdict"]
    how = "as noise" if status == "succeeded" and not verdict else f"as {status}"
    return f"{ended.id} ended {how}, without a report"


def terminal_markdown(raw: bytes) -> str:
    """Give a report's Markdown for a terminal: what could steer it is made visible."""
    return "\n".join(plain(line) for line in raw.decode("utf-8").splitlines())
