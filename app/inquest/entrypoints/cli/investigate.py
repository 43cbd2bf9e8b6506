"""investigate: one alert, in this process, with a worker of its own for as long as it takes."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from inquest.bootstrap.home import Home, open_home
from inquest.bootstrap.observing import configure_telemetry
from inquest.bootstrap.processes import Process, build_worker, open_process, watching_health
from inquest.bootstrap.workspace import Workspace, Workspaces
from inquest.domain.alert import Post
from inquest.domain.canonical import digest_of
from inquest.domain.intake import Arrival, IntakeConfig
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.beside import beside
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.place import load_workspaces
from inquest.entrypoints.cli.remote import investigate_remotely, words_of
from inquest.entrypoints.cli.showing import print_report
from inquest.entrypoints.cli.store_access import quiet
from inquest.entrypoints.cli.tell import Teller, teller
from inquest.errors import ConfigurationError
from inquest.runtime.clock import RandomIds
from inquest.runtime.intake import accept
from inquest.runtime.worker import Worker
from inquest.settings import Settings
from inquest.sources import SOURCES
from inquest.store.accept import PostgresIntake
from inquest.telemetry import flush_reports, log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

DELIVERY_PATIENCE_S = 30.0
DRAIN_GRACE_S = 3.0
"""Whoever presses Ctrl-C waits no longer than that for running calls; the investigation is kept."""


@dataclass(frozen=True)
class _Asked:
    """What is to be investigated: read and understood, before anything is started for it."""

    given: Given
    intake: IntakeConfig
    workspace: Workspace
    post: Post


def investigate(settings: Settings, config: Path | None, given: Given, *, follow: bool, as_json: bool) -> int:
    """Take the alert in, investigate it, print the report; the exit code says how it ended."""
    telling = teller(follow=follow, as_json=as_json)
    if settings.url is not None:
        return asyncio.run(investigate_remotely(settings, given, telling, as_json=as_json))
    configure_telemetry(quiet(settings))
    hasty = settings.model_copy(update={"drain_grace_s": min(settings.drain_grace_s, DRAIN_GRACE_S)})
    workspaces = load_workspaces(settings, config)
    asked = _understood(given, workspaces)
    telling.note("database", str(settings.home) if settings.database_url is None else "INQUEST_DATABASE_URL")
    with open_home(settings) as home:
        code = asyncio.run(_investigate(hasty, home, workspaces, asked, telling, as_json=as_json))
    flush_reports()
    return code


def _understood(given: Given, workspaces: Workspaces) -> _Asked:
    """Choose the intake and read the body. Raises ConfigurationError naming the option or the file."""
    intake = _intake(given.intake, workspaces)
    post = SOURCES[intake.type].parse(given.raw)
    if post.quarantine is not None:
        msg = f"{given.name}: not understood as a post of {intake.type}: {post.quarantine}"
        raise ConfigurationError(msg)
    return _Asked(given, intake, workspaces[intake.workspace], post)


def _intake(name: str | None, workspaces: Workspaces) -> IntakeConfig:
    known = {one.name: one for workspace in workspaces.values() for one in workspace.intakes}
    if name is not None and name in known:
        return known[name]
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    msg = f"--intake: name one of {', '.join(sorted(known)) or '(the configuration has none)'}"
    raise ConfigurationError(msg)


async def _investigate(
    settings: Settings, home: Home, workspaces: Workspaces, asked: _Asked, telling: Teller, *, as_json: bool
) -> int:
    process = await open_process(settings, home, workspaces)
    try:
        worker = build_worker(process)  # what is wrong with its models is said before anything is taken in
        opened = await _take_in(process, asked, telling)
        watched = following.AtDatabase(process.database, asked.workspace.name, opened)
        async with _working(process, worker) as working:
            ended = await beside(working, following.follow(watched, telling))
            deliveries = await beside(
                working, following.when_delivered(process.database, ended.id, timeout_s=DELIVERY_PATIENCE_S)
            )
        if as_json:
            delivered = {one.destination: {"state": one.state, "reference": one.reference} for one in deliveries}
            typer.echo(json.dumps({**ended.shown, "delivered": delivered}))
        else:
            await print_report(process.reporting, asked.workspace.name, ended)
            for one in deliveries:
                typer.echo(f"{one.destination}: {one.state} {one.reference}".rstrip())
        return ended.exit
    finally:
        await process.aclose()


async def _take_in(process: Process, asked: _Asked, telling: Teller) -> str:
    """Accept the post as the HTTP intake does; give the investigation that it belongs to.

    Raises ConfigurationError saying why there is none.
    """
    arrival = Arrival(
        intake=asked.intake,
        ceilings=asked.workspace.ceilings,
        post=asked.post,
        body=asked.given.raw,
        body_digest=digest_of(asked.given.raw),
        remote="cli",
    )
    accepted = await accept(
        arrival, intake=PostgresIntake(process.database), ids=RandomIds(), redactor=asked.workspace.redactor
    )
    words = words_of({str(word): count for word, count in accepted.counts.items()})
    if not accepted.investigations:
        msg = f"{asked.given.name}: opens no investigation: {words}"
        raise ConfigurationError(msg)
    opened = accepted.investigations[0].investigation_id
    telling.note("accepted", f"{words}: investigation {opened}")
    return opened


@asynccontextmanager
async def _working(process: Process, worker: Worker) -> AsyncIterator[asyncio.Future[None]]:
    """Run a worker of this process's own, and drain it at the end. Gives what ends when the worker does."""
    stop = asyncio.Event()
    async with watching_health(process):
        working = asyncio.ensure_future(worker.run(stop))
        try:
            yield working
        finally:
            stop.set()
            await asyncio.wait({working})
            if not working.cancelled() and (error := working.exception()) is not None:
                log().error("worker_failed", error=type(error).__name__)
