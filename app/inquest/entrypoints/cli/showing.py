"""list and show."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer

from inquest.bootstrap.reporting import Reporting
from inquest.destinations.shared.escape import plain, terminal
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.store_access import with_database
from inquest.entrypoints.cli.tell import teller
from inquest.entrypoints.shown import shown
from inquest.errors import ConfigurationError, NotFound
from inquest.settings import Settings
from inquest.store.database import Database
from inquest.store.investigations import Filters, InvestigationRow, PostgresInvestigations

_WORKSPACES = "select distinct workspace from inquest.investigation order by workspace"


def show_list(settings: Settings, workspace: str | None, limit: int, *, as_json: bool) -> None:
    """Print the newest investigations of a workspace: of the only one there is, when none is named."""

    async def read(database: Database) -> Sequence[InvestigationRow]:
        name = workspace or await _only_workspace(database)
        return (await PostgresInvestigations(database, name).page(Filters(), limit=limit)).rows

    rows = with_database(settings, read)
    if as_json:
        typer.echo(json.dumps([shown(row) for row in rows]))
    elif rows:
        typer.echo(_aligned([_HEAD, *(_cells(row) for row in rows)]))
    else:
        typer.echo("no investigations" if workspace is None else f"no investigations in workspace {workspace}")


async def _only_workspace(database: Database) -> str:
    names = [str(row.workspace) for row in await database.rows(_WORKSPACES, {})]
    if len(names) > 1:
        msg = f"--workspace: name one of {', '.join(names)}"
        raise ConfigurationError(msg)
    return names[0] if names else "default"


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
    await print_report(Reporting(database), watched.workspace, ended)
    return ended.exit


async def print_report(reporting: Reporting, workspace: str, ended: following.Followed) -> None:
    """Print the report of an ended investigation, or that there is none."""
    try:
        typer.echo(terminal_markdown(await reporting.form(workspace, ended.id, "md")))
    except NotFound:
        typer.echo(without_report(ended))


def without_report(ended: following.Followed) -> str:
    """Say how an investigation ended of which there is no report."""
    status, verdict = ended.row["status"], ended.row["verdict"]
    how = "as noise" if status == "succeeded" and not verdict else f"as {status}"
    return f"{ended.id} ended {how}, without a report"


def terminal_markdown(raw: bytes) -> str:
    """Give a report's Markdown for a terminal: what could steer it is made visible."""
    return "\n".join(plain(line) for line in raw.decode("utf-8").splitlines())
