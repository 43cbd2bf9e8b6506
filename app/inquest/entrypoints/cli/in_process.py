"""One investigation in this process: taken in as the intake would, worked on here, followed to its deliveries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from inquest.bootstrap.home import Home
from inquest.bootstrap.processes import Process, build_worker, open_process, watching_health
from inquest.bootstrap.workspace import Workspace, Workspaces
from inquest.domain.alert import Post
from inquest.domain.canonical import digest_of
from inquest.domain.intake import Accepted, Arrival, IntakeConfig
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.beside import beside
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.remote_investigating import words_of
from inquest.entrypoints.cli.showing import report_of
from inquest.entrypoints.cli.tell import Teller
from inquest.errors import ConfigurationError
from inquest.runtime.clock import RandomIds
from inquest.runtime.intake import accept
from inquest.runtime.worker import Worker
from inquest.settings import Settings
from inquest.sources import SOURCES
from inquest.store.accept import PostgresIntake
from inquest.telemetry import log

DELIVERY_PATIENCE_S = 30.0
DRAIN_GRACE_S = 3.0
"""Whoever presses Ctrl-C waits no longer than that for running calls; the investigation is kept."""


@dataclass(frozen=True)
class Asked:
    """A post that is to be taken in: read and understood, before anything is started for it."""

    given: Given
    intake: IntakeConfig
    workspace: Workspace
    post: Post


def understood(given: Given, intake: IntakeConfig, workspace: Workspace) -> Asked:
    """Read the body as its intake does. Raises ConfigurationError naming it."""
    post = SOURCES[intake.type].parse(given.raw)
    if post.quarantine is not None:
        msg = f"{given.name}: not understood as a post of {intake.type}: {post.quarantine}"
        raise ConfigurationError(msg)
    return Asked(given, intake, workspace, post)


@dataclass(frozen=True)
class Outcome:
    """How it ended, where its deliveries stand, and what there is to print."""

    followed: following.Followed
    deliveries: Sequence[following.Delivery]
    report: str


async def investigate_here(
    settings: Settings, home: Home, workspaces: Workspaces, posts: Sequence[Asked], telling: Teller
) -> Outcome:
    """Take `posts` in, the first of which opens the investigation, and see it through to its deliveries.

    Raises ConfigurationError where it opens none, and what is wrong with the worker before anything is taken in.
    """
    hasty = settings.model_copy(update={"drain_grace_s": min(settings.drain_grace_s, DRAIN_GRACE_S)})
    process = await open_process(hasty, home, workspaces)
    try:
        worker = build_worker(process)
        opened = await _open(process, posts[0], telling)
        for further in posts[1:]:
            await _take_in(process, further, telling)
        workspace = posts[0].workspace.name
        watched = following.AtDatabase(process.database, workspace, opened)
        async with _working(process, worker) as working:
            ended = await beside(working, following.follow(watched, telling))
            deliveries = await beside(
                working, following.when_delivered(process.database, ended.id, timeout_s=DELIVERY_PATIENCE_S)
            )
        report = partial(process.reporting.form, workspace, ended.id, "md")
        return Outcome(ended, deliveries, await report_of(ended, report))
    finally:
        await process.aclose()


async def _open(process: Process, asked: Asked, telling: Teller) -> str:
    """Take a post in, and give the investigation that it belongs to. Raises ConfigurationError saying why there is none."""
    accepted = await _take_in(process, asked, telling)
    if not accepted.investigations:
        msg = f"{asked.given.name}: opens no investigation: {_words(accepted)}"
        raise ConfigurationError(msg)
    return accepted.investigations[0].investigation_id


async def _take_in(process: Process, asked: Asked, telling: Teller) -> Accepted:
    """Accept the post as the HTTP intake does, and say what came of it."""
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
    if accepted.investigations:
        telling.note("accepted", f"{_words(accepted)}: investigation {accepted.investigations[0].investigation_id}")
    return accepted


def _words(accepted: Accepted) -> str:
    return words_of({str(word): count for word, count in accepted.counts.items()})


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
