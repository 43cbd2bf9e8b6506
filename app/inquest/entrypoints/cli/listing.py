"""list: what investigations there are."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer

from inquest.destinations.shared.escape import terminal
from inquest.entrypoints.cli.store_access import with_database
from inquest.entrypoints.shown import shown
from inquest.errors import ConfigurationError
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
