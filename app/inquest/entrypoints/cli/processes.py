"""serve, work and up: the processes of an installation."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from typing_extensions import override

from inquest.bootstrap.home import Home, open_home
from inquest.bootstrap.observing import configure_telemetry
from inquest.bootstrap.processes import build_worker, open_process, watching_health
from inquest.bootstrap.workspace import Workspaces
from inquest.entrypoints.cli.attended import end_with_the_starter
from inquest.entrypoints.cli.children import Child, stop_all
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.listening import bound_sockets
from inquest.entrypoints.cli.place import load_workspaces
from inquest.entrypoints.http.app import end_streams
from inquest.entrypoints.http.protocol import BoundedHttp
from inquest.entrypoints.http.serving import build_app, check_exposure
from inquest.runtime.supervisor import end_every_task
from inquest.runtime.worker import run_forever
from inquest.settings import Settings
from inquest.telemetry import flush_reports, log

KEEP_ALIVE_S = 75
"""Above the idle time of the usual proxies and of Go's HTTP client, so that they close and not we."""
SHUTDOWN_S = 15
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
        log().info("serving", port=sockets[0].getsockname()[1], database=_database(home))
        await Server(_uvicorn(build_app(process))).serve(sockets=sockets)
        log().info("stopped_serving")
    finally:
        await process.aclose()


class Server(uvicorn.Server):
    """uvicorn, but for its way of ending: a signal stops the server, and the process goes on to close what it opened."""

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; what streams has no end to wait for."""
        end_streams(self.config.app)
        await super().shutdown(sockets)

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGTERM and SIGINT stop the server, and nothing else. uvicorn would raise them again after it."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _uvicorn(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # uvicorn's own alias of an ASGI application
        http=BoundedHttp,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )


def work(settings: Settings, config: Path | None, *, attended: bool = False) -> None:
    """Run a worker until SIGTERM; it drains, and the process ends with 0. `attended` as in `serve`."""
    if attended:
        end_with_the_starter()
    configure_telemetry(settings)
    workspaces = load_workspaces(settings, config)
    with open_home(settings) as home:
        asyncio.run(_work(settings, home, workspaces))
    flush_reports()


async def _work(settings: Settings, home: Home, workspaces: Workspaces) -> None:
    process = await open_process(settings, home, workspaces)
    try:
        worker = build_worker(process)
        log().info("working", workspaces=len(workspaces), database=_database(home))
        async with watching_health(process):
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
