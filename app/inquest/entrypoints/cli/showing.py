"""show: one investigation, and its report."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import typer

from inquest.bootstrap.reporting import Reporting
from inquest.destinations.shared.escape import plain, terminal
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.remote import connected
from inquest.entrypoints.cli.remote_following import watched_at
from inquest.entrypoints.cli.store_access import with_database
from inquest.entrypoints.cli.tell import teller
from inquest.entrypoints.cli.waiting import how_to_answer, question_of
from inquest.errors import NotFound
from inquest.settings import Settings
from inquest.store.database import Database

ReadReport = Callable[[], Awaitable[bytes]]
"""Reads a report as Markdown. Raises NotFound where there is none."""


def show_one(settings: Settings, investigation: str, *, follow: bool, as_json: bool) -> int:
    """Print an investigation's report, or its state while there is none. `follow` waits for its end.

    It is looked for in the database, or asked of the service at INQUEST_URL. The exit code is the investigation's
    when it was followed or has ended, else 0.
    """
    name = checked_id(investigation)

    async def in_database(database: Database) -> int:
        watched = await following.find(database, name)
        report = partial(Reporting(database).form, watched.workspace, name, "md")
        return await _show(watched, report, follow=follow, as_json=as_json)

    async def at_service() -> int:
        async with connected(settings) as service, watched_at(service, name) as watched:
            return await _show(watched, watched.report, follow=follow, as_json=as_json)

    return with_database(settings, in_database) if settings.url is None else asyncio.run(at_service())


async def _show(watched: following.Watched, report: ReadReport, *, follow: bool, as_json: bool) -> int:
    row = await watched.row()
    if not follow and row["status"] not in following.ENDED:
        typer.echo(json.dumps(row) if as_json else standing(row))
        return Exit.ANSWERED
    ended = await following.follow(watched, teller(follow=follow, as_json=as_json))
    return await print_ended(ended, report, as_json=as_json)


async def print_ended(ended: following.Followed, report: ReadReport, *, as_json: bool) -> int:
    """Print what became of an investigation, and give its exit code."""
    typer.echo(json.dumps(ended.shown) if as_json else await report_of(ended, report))
    return ended.exit


def standing(row: Mapping[str, Any]) -> str:
    """Say where one stands that has not ended, and what it waits for."""
    waits = question_of(row) or terminal(str(row["defer_reason"]))
    first = terminal(f"{row['id']} is {row['status']}") + (f": {waits}" if waits else "")
    how = how_to_answer(row)
    return f"{first}\nanswer with: {how}" if how else first


async def report_of(ended: following.Followed, report: ReadReport) -> str:
    """Give the report of an ended investigation for a terminal, or that there is none."""
    try:
        return terminal_markdown(await report())
    except NotFound:
        return without_report(ended)


def without_report(ended: following.Followed) -> str:
    """Say how an investigation ended of which there is no report."""
    status, verdict = ended.row["status"], ended.row["verdict"]
    how = "as noise" if status == "succeeded" and not verdict else f"as {status}"
    return terminal(f"{ended.id} ended {how}, without a report")


def terminal_markdown(raw: bytes) -> str:
    """Give a report's Markdown for a terminal: what could steer it is made visible."""
    return "\n".join(plain(line) for line in raw.decode("utf-8").splitlines())
