"""uvicorn as we run it: bounded connections, and signals that stop the server and nothing else."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from typing_extensions import override

from inquest.entrypoints.http.app import end_streams
from inquest.entrypoints.http.protocol import BoundedHttp

KEEP_ALIVE_S = 75
"""Above the idle time of the usual proxies and of Go's HTTP client, so that they close and not we."""
SHUTDOWN_S = 15
BACKLOG = 2_048
"""Connections that wait to be accepted."""


def configured(
    app: object,
    *,
    protocol: type[BoundedHttp] = BoundedHttp,
    backlog: int = BACKLOG,
    shutdown_s: int = SHUTDOWN_S,
) -> uvicorn.Config:
    """Give uvicorn's configuration for `app`, an ASGI application."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # uvicorn's own alias of an ASGI application
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=backlog,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=shutdown_s,
    )


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
