"""serve, work and up: the processes of an installation."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import uvicorn

from inquest.bootstrap.home import open_home
from inquest.bootstrap.processes import build_worker, configure_telemetry, open_process, watch_health
from inquest.entrypoints.cli.place import load_configuration
from inquest.entrypoints.http.serving import build_app
from inquest.runtime.worker import run_forever
from inquest.settings import Settings, child_environment
from inquest.telemetry import log

KEEP_ALIVE_S = 75
"""Above the idle time of the usual proxies and of Go's HTTP client, so that they close and not we."""
SHUTDOWN_S = 15
MAX_HEAD_BYTES = 65_536
RESTART_BACKOFF_S = (0.5, 1.0, 2.0, 5.0)
STEADY_AFTER_S = 60.0
"""A child that lived this long starts its backoff anew."""
CHILD_STOP_S = 40.0


def serve(settings: Settings, config: Path | None) -> None:
    """Run the HTTP service until SIGTERM."""
    configure_telemetry(settings)
    configuration, base = load_configuration(settings, config)
    with open_home(settings) as home:

        async def run() -> None:
            process = await open_process(settings, home, configuration, base)
            try:
                server = uvicorn.Server(_uvicorn(settings, build_app(process)))
                log().info("serving", host=settings.host, port=settings.port)
                await server.serve()
            finally:
                await process.aclose()

        asyncio.run(run())


def _uvicorn(settings: Settings, app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # uvicorn's own alias of an ASGI application
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )


def work(settings: Settings, config: Path | None) -> None:
    """Run a worker until SIGTERM; it drains, and the process ends with 0."""
    configure_telemetry(settings)
    configuration, base = load_configuration(settings, config)
    with open_home(settings) as home:

        async def run() -> None:
            process = await open_process(settings, home, configuration, base)
            watching = asyncio.ensure_future(watch_health(process))
            try:
                await run_forever(build_worker(process))
            finally:
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching
                await process.aclose()

        asyncio.run(run())


def up(settings: Settings, config: Path | None) -> None:
    """Run the service and one worker as two processes, and start either again when it dies, until SIGTERM.

    Two, because the turns of a model in the same process would hold up the answers to senders.
    """
    configure_telemetry(settings)
    load_configuration(settings, config)
    stopping = False

    def stop(_number: int, _frame: object) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with open_home(settings):
        children = [Child("serve", config), Child("work", config)]
        for child in children:
            child.start()
        while not stopping:
            for child in children:
                child.keep_alive()
            time.sleep(0.2)
        for child in children:
            child.ask_to_stop()
        for child in children:
            child.stop()


class Child:
    """One of our own processes, started again with a growing pause when it ends unasked."""

    def __init__(self, command: str, config: Path | None, environment: dict[str, str] | None = None) -> None:
        self.command = command
        self._config = config
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._deaths = 0
        self._not_before = 0.0

    @property
    def pid(self) -> int | None:
        """Give its process id while there is one."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it. Its signals are ours to pass on: it leads a group of its own."""
        arguments = [sys.executable, "-m", "inquest", self.command]
        if self._config is not None:
            arguments += ["--config", os.fspath(self._config)]
        environment = child_environment(self._environment)
        self._process = subprocess.Popen(arguments, env=environment, start_new_session=True)  # noqa: S603  # ourselves
        self._started_at = time.monotonic()

    def keep_alive(self) -> None:
        """Start it again when it has ended and its pause is over."""
        if self._process is None:
            if time.monotonic() >= self._not_before:
                self.start()
            return
        code = self._process.poll()
        if code is None:
            return
        lived = time.monotonic() - self._started_at
        self._deaths = 0 if lived >= STEADY_AFTER_S else self._deaths + 1
        pause = RESTART_BACKOFF_S[min(max(self._deaths - 1, 0), len(RESTART_BACKOFF_S) - 1)]
        log().error("process_ended", command=self.command, code=code, again_in_s=pause)
        self._process, self._not_before = None, time.monotonic() + pause

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def stop(self) -> None:
        """Wait for its end; kill it when it takes longer than its drain may."""
        if self._process is None:
            return
        self.ask_to_stop()
        try:
            self._process.wait(CHILD_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
