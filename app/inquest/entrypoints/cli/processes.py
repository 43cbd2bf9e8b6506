"""serve, work and up: the processes of an installation."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from functools import partial
from pathlib import Path

from inquest.bootstrap.home import Home, open_home
from inquest.bootstrap.observing import configure_telemetry
from inquest.bootstrap.processes import build_worker, open_process, watching_health
from inquest.bootstrap.workspace import Workspaces
from inquest.entrypoints.cli.attended import end_with_the_starter
from inquest.entrypoints.cli.children import Child, stop_all
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.listening import bound_sockets, check_metrics, metrics_sockets, port_of
from inquest.entrypoints.cli.place import load_workspaces
from inquest.entrypoints.http.exposition import OF_A_WORKER, exposition
from inquest.entrypoints.http.server import Server, configured
from inquest.entrypoints.http.serving import build_app, check_exposure
from inquest.entrypoints.http.worker_metrics import serving_metrics
from inquest.runtime.supervisor import end_every_task
from inquest.runtime.worker import run_forever
from inquest.settings import Settings, operator_token
from inquest.telemetry import flush_reports, log

LOOK_EVERY_S = 0.5


def serve(settings: Settings, config: Path | None, *, attended: bool = False) -> None:
    """Run the HTTP service until SIGTERM; `attended`: or until whoever started us is gone."""
    if attended:
        end_with_the_starter()
    configure_telemetry(settings)
    workspaces = load_workspaces(settings, config)
    check_exposure(settings, workspaces)
    with bound_sockets(settings.host, settings.port) as sockets, open_home(settings) as home:
        asyncio.run(_serve(settings, home, workspaces, sockets))
    flush_reports()


async def _serve(settings: Settings, home: Home, workspaces: Workspaces, sockets: list[socket.socket]) -> None:
    process = await open_process(settings, home, workspaces)
    try:
        log().info("serving", port=port_of(sockets), database=_database(home))
        await Server(configured(build_app(process))).serve(sockets=sockets)
        log().info("stopped_serving")
    finally:
        await process.aclose()


def work(settings: Settings, config: Path | None, *, attended: bool = False) -> None:
    """Run a worker until SIGTERM; it drains, and the process ends with 0. `attended` as in `serve`."""
    if attended:
        end_with_the_starter()
    configure_telemetry(settings)
    workspaces = load_workspaces(settings, config)
    with metrics_sockets(settings) as sockets, open_home(settings) as home:
        asyncio.run(_work(settings, home, workspaces, sockets))
    flush_reports()


async def _work(settings: Settings, home: Home, workspaces: Workspaces, sockets: list[socket.socket]) -> None:
    process = await open_process(settings, home, workspaces)
    shown = partial(exposition, process.metrics, OF_A_WORKER)
    try:
        worker = build_worker(process)
        log().info("working", workspaces=len(workspaces), database=_database(home), metrics_port=port_of(sockets))
        async with watching_health(process), serving_metrics(sockets, shown, token=operator_token(settings)):
            await run_forever(worker)
    finally:
        await process.aclose()
        await end_every_task()


def _database(home: Home) -> str:
    return "embedded" if home.is_embedded else "given"


def up(settings: Settings, config: Path | None) -> int:
    """Run the service and one worker as two processes, and start either again when it dies, until SIGTERM.

    Two, because the turns of a model in the same process would hold up the answers to senders. One that says
    that its configuration is wrong is not started again: both end, with its exit code.
    """
    configure_telemetry(settings)
    check_exposure(settings, load_workspaces(settings, config))
    check_metrics(settings, beside_the_service=True)
    stopping = False

    def stop(_number: int, _frame: object) -> None:
        nonlocal stopping
        stopping = True

    with open_home(settings, upgrade=True) as home:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, stop)
        children = [Child("serve", config), Child("work", config)]
        try:
            for child in children:
                child.start()
            while not stopping:
                for child in children:
                    if child.has_ended() and child.code == Exit.USAGE:
                        return Exit.USAGE
                    child.keep_alive()
                home.keep_alive()
                time.sleep(LOOK_EVERY_S)
        finally:
            stop_all(children)
    return Exit.ANSWERED
