"""list and show."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import typer

from inquest.bootstrap.home import open_home
from inquest.bootstrap.processes import Process, open_process
from inquest.configuration.sections import Configuration, WorkspaceSection
from inquest.destinations.shared.escape import terminal
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.store_access import with_database
from inquest.entrypoints.http.investigations import shown
from inquest.errors import NotFound
from inquest.settings import Settings
from inquest.store.database import Database
from inquest.store.investigations import Filters, InvestigationRow, PostgresInvestigations


def show_list(settings: Settings, workspace: str, limit: int, *, as_json: bool) -> None:
    """Print the newest investigations of a workspace."""

    async def read(database: Database) -> tuple[InvestigationRow, ...]:
        return (await PostgresInvestigations(database, workspace).page(Filters(), limit=limit)).rows

    rows = with_database(settings, read)
    if as_json:
        typer.echo(json.dumps([shown(row) for row in rows]))
        return
    if not rows:
        typer.echo(f"no investigations in workspace {workspace}")
        return
    typer.echo(_aligned([_HEAD, *(_cells(row) for row in rows)]))


_HEAD = ("opened (UTC)", "id", "status", "verdict", "service", "alert")


def _cells(row: InvestigationRow) -> tuple[str, ...]:
    opened = f"{row.created_at:%Y-%m-%d %H:%M:%S}"
    cells = (opened, row.identity.run_id, row.status, row.verdict or "-", row.service or "-", row.title or "-")
    return tuple(terminal(cell) for cell in cells)


def _aligned(rows: list[tuple[str, ...]]) -> str:
    """Give rows as text in columns; nothing is cut, whatever the terminal's width: ids are for copying."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def show_one(settings: Settings, investigation: str, *, follow: bool, as_json: bool) -> int:
    """Print an investigation's report, or its state while there is none. `follow` waits for its end.

    The exit code is the investigation's when it was followed or has ended, else 0.
    """
    with open_home(settings, upgrade=False) as home:

        async def run() -> int:
            nothing = Configuration(workspaces={"default": WorkspaceSection()})
            process = await open_process(settings, home, nothing, Path.cwd())
            try:
                return await _show(process, investigation, follow=follow, as_json=as_json)
            finally:
                await process.aclose()

        return asyncio.run(run())


async def _show(process: Process, investigation: str, *, follow: bool, as_json: bool) -> int:
    watched = await following.find(process.database, investigation)
    row = await watched.row()
    if not follow and row["status"] not in following.ENDED:
        waits = f": {row['defer_reason']}" if row["defer_reason"] else ""
        typer.echo(json.dumps(row) if as_json else f"{investigation} is {row['status']}{waits}")
        return Exit.ANSWERED
    ended = await following.follow(watched, following.sayer(follow=follow, as_json=as_json))
    if as_json:
        typer.echo(json.dumps({**ended.row, "degraded": ended.degraded}))
        return ended.exit
    try:
        typer.echo(terminal_markdown(await process.reporting.form(watched.workspace, investigation, "md")))
    except NotFound:
        typer.echo(f"{investigation} ended as {ended.row['status']}, without a report")
    return ended.exit


def terminal_markdown(raw: bytes) -> str:
    """Give a report's Markdown for a terminal: what could steer it is made visible."""
    return "\n".join(terminal(line) for line in raw.decode("utf-8").splitlines())
