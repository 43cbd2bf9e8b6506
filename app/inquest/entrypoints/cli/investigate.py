"""investigate: one alert, in this process, with a worker of its own for as long as it takes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import typer

from inquest.bootstrap.home import open_home
from inquest.bootstrap.processes import Process, build_worker, configure_telemetry, open_process, watch_health
from inquest.domain.canonical import digest_of
from inquest.domain.intake import Accepted, Arrival, IntakeConfig
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.place import load_configuration
from inquest.entrypoints.cli.remote import investigate_remotely
from inquest.entrypoints.cli.showing import terminal_markdown
from inquest.entrypoints.http.bodies import MAX_BODY_BYTES
from inquest.errors import ConfigurationError, NotFound
from inquest.runtime.clock import RandomIds
from inquest.runtime.intake import accept
from inquest.settings import Settings
from inquest.sources import SOURCES
from inquest.store.accept import PostgresIntake

DELIVERY_PATIENCE_S = 30.0


def investigate(
    settings: Settings, config: Path | None, body: str, *, intake: str | None, follow: bool, as_json: bool
) -> int:
    """Take the alert in, investigate it, print the report; the exit code says how it ended."""
    raw = _read(body)
    if settings.url is not None:
        return asyncio.run(investigate_remotely(settings, raw, intake, follow=follow, as_json=as_json))
    configure_telemetry(settings.model_copy(update={"log_level": "error", "log_format": "console"}))
    configuration, base = load_configuration(settings, config)
    if follow and not as_json:
        typer.echo("starting", err=True)
    with open_home(settings) as home:

        async def run() -> int:
            process = await open_process(settings, home, configuration, base)
            try:
                return await _run(process, raw, intake, follow=follow, as_json=as_json)
            finally:
                await process.aclose()

        return asyncio.run(run())


def _read(body: str) -> bytes:
    """Read the alert's body. Raises ConfigurationError naming the file."""
    if body == "-":
        raw = sys.stdin.buffer.read(MAX_BODY_BYTES + 1)
    else:
        try:
            with Path(body).open("rb") as opened:
                raw = opened.read(MAX_BODY_BYTES + 1)
        except OSError as error:
            msg = f"{body}: cannot be read ({error.strerror})"
            raise ConfigurationError(msg) from error
    if len(raw) > MAX_BODY_BYTES:
        msg = f"{body}: larger than {MAX_BODY_BYTES} bytes"
        raise ConfigurationError(msg)
    return raw


async def _run(process: Process, raw: bytes, intake: str | None, *, follow: bool, as_json: bool) -> int:
    config = _intake(process, intake)
    workspace = process.workspaces[config.workspace]
    post = SOURCES[config.type].parse(raw)
    arrival = Arrival(
        intake=config, ceilings=workspace.ceilings, post=post, body=raw, body_digest=digest_of(raw), remote="cli"
    )
    accepted = await accept(arrival, intake=PostgresIntake(process.database), ids=RandomIds())
    watched = following.AtDatabase(process.database, workspace.name, _opened(accepted, post.quarantine))
    async with _working(process):
        ended = await following.follow(watched, following.sayer(follow=follow, as_json=as_json))
        delivered = await following.when_delivered(process.database, ended.id, timeout_s=DELIVERY_PATIENCE_S)
    if as_json:
        typer.echo(json.dumps({**ended.row, "degraded": ended.degraded, "delivered": delivered}))
    else:
        await _print_report(process, workspace.name, ended.id, delivered)
    return ended.exit


@contextlib.asynccontextmanager
async def _working(process: Process) -> AsyncIterator[None]:
    """Run a worker of this process's own, and drain it at the end."""
    stop = asyncio.Event()
    watching = asyncio.ensure_future(watch_health(process))
    working = asyncio.ensure_future(build_worker(process).run(stop))
    try:
        yield
    finally:
        stop.set()
        watching.cancel()
        await asyncio.gather(watching, working, return_exceptions=True)


async def _print_report(process: Process, workspace: str, investigation_id: str, delivered: dict[str, str]) -> None:
    with contextlib.suppress(NotFound):
        typer.echo(terminal_markdown(await process.reporting.form(workspace, investigation_id, "md")))
    for destination, reference in delivered.items():
        typer.echo(f"{destination}: {reference or 'not delivered'}")


def _intake(process: Process, name: str | None) -> IntakeConfig:
    known = {one.name: one for workspace in process.workspaces.values() for one in workspace.intakes}
    if name is not None and name in known:
        return known[name]
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    msg = f"--intake: name one of {', '.join(sorted(known)) or '(the configuration has none)'}"
    raise ConfigurationError(msg)


def _opened(accepted: Accepted, quarantine: str | None) -> str:
    """Give the investigation that the post belongs to. Raises ConfigurationError saying why there is none."""
    if quarantine is not None:
        msg = f"the body is not understood: {quarantine}"
        raise ConfigurationError(msg)
    if not accepted.investigations:
        words = ", ".join(f"{count} {word}" for word, count in accepted.counts.items()) or "no alerts"
        msg = f"the body opens no investigation: {words}"
        raise ConfigurationError(msg)
    return accepted.investigations[0].investigation_id
