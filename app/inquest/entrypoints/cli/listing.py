"""list: what investigations there are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer

from inquest.destinations.shared.escape import terminal
from inquest.entrypoints.cli.given import ListAsked
from inquest.entrypoints.cli.halting import halt_lines
from inquest.entrypoints.cli.reach import Reach, reached
from inquest.entrypoints.cli.waiting import how_to_answer, question_of
from inquest.settings import Settings

_HEAD = ("opened (UTC)", "id", "status", "verdict", "service", "alert")
_SHOWN = ("id", "status", "verdict", "service", "title")


def show_list(settings: Settings, asked: ListAsked, *, as_json: bool) -> None:
    """Print a page of the investigations of a workspace: of the only one there is, when none is named."""

    async def read(reach: Reach) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return await reach.page(asked), {"halts": []} if as_json else await reach.halts()

    page, halted = reached(settings, read)
    for line in halt_lines(halted["halts"]):
        typer.echo(line, err=True)
    if as_json:
        typer.echo(json.dumps(page))
    elif page["investigations"]:
        typer.echo(_aligned([_HEAD, *(_cells(row) for row in page["investigations"])]))
        for row in page["investigations"]:
            if question_of(row):
                typer.echo(f"{terminal(str(row['id']))} asks: {question_of(row)}\n  answer with: {how_to_answer(row)}")
        if page["next"] is not None:
            typer.echo(f"more: the same with --cursor {terminal(str(page['next']))}")
    else:
        such = "such " if asked.restricts else ""
        where = "" if asked.workspace is None else f" in workspace {asked.workspace}"
        typer.echo(f"no {such}investigations{where}")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    opened = str(row.get("created_at", ""))[:19].replace("T", " ")
    return tuple(terminal(cell) for cell in (opened, *(str(row.get(name) or "-") for name in _SHOWN)))


def _aligned(rows: list[tuple[str, ...]]) -> str:
    """Give rows as text in columns; nothing is cut, whatever the terminal's width: ids are for copying."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
