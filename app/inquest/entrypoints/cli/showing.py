"""list and show."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from inquest.bootstrap.home import open_home
from inquest.bootstrap.processes import open_process
from inquest.configuration.sections import Configuration, WorkspaceSection
from inquest.destinations.shared.escape import terminal
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.store_access import with_database
from inquest.entrypoints.http.investigations import shown
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
    table = Table("opened (UTC)", "id", "alert", "service", "status", "verdict", box=None)
    for row in rows:
        cells = (
            f"{row.created_at:%Y-%m-%d %H:%M:%S}",
            row.identity.run_id,
            row.title,
            row.service,
            row.status,
            row.verdict,
        )
        table.add_row(*(Text(terminal(cell)) for cell in cells))
    Console().print(table)


def show_one(settings: Settings, config: Path | None, investigation: str, *, follow: bool, as_json: bool) -> int:
    """Print an investigation's report, or its state while there is none. `follow` waits for its end."""
    del config  # the report needs no integration: links are left out

    async def read(database: Database) -> int:
        workspace = await following.find(database, investigation)
        ended = None
        if follow:
            say = following.print_json if as_json else following.print_line
            ended = await following.follow(database, workspace, investigation, say)
        row = await PostgresInvestigations(database, workspace).get(investigation)
        if as_json:
            typer.echo(json.dumps(shown(row)))
        elif row.status not in following.ENDED:
            typer.echo(f"{investigation} is {row.status}{f': {row.defer_reason}' if row.defer_reason else ''}")
        return Exit.ANSWERED if ended is None else ended.exit

    code = with_database(settings, read)
    if not as_json:
        print_report(settings, investigation)
    return code


def print_report(settings: Settings, investigation: str) -> None:
    """Print the newest report as Markdown, if there is one."""
    import asyncio  # only here

    with open_home(settings, upgrade=False) as home:

        async def run() -> bytes | None:
            empty = Configuration(workspaces={"default": WorkspaceSection()})
            process = await open_process(settings, home, empty, Path.cwd())
            try:
                workspace = await following.find(process.database, investigation)
                row = await PostgresInvestigations(process.database, workspace).get(investigation)
                if row.status not in following.ENDED:
                    return None
                return await process.reporting.form(workspace, investigation, "md")
            finally:
                await process.aclose()

        found = asyncio.run(run())
    if found is not None:
        typer.echo(terminal_markdown(found))


def terminal_markdown(raw: bytes) -> str:
    """Give a report's Markdown for a terminal: what could steer it is made visible."""
    return "\n".join(terminal(line) for line in raw.decode("utf-8").splitlines())
