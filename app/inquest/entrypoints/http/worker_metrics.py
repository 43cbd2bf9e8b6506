"""The metrics of a worker, served in its own process for as long as it works."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, Response
from pydantic import SecretStr
from typing_extensions import override

from inquest.entrypoints.http.access import operator_only
from inquest.entrypoints.http.health import METRICS_TYPE
from inquest.entrypoints.http.outermost import Outermost
from inquest.entrypoints.http.problems import add_handlers
from inquest.entrypoints.http.protocol import BoundedHttp
from inquest.entrypoints.http.server import configured

MAX_SCRAPERS = 16
"""Connections at once. A new one closes the oldest: whoever holds them open keeps no scraper out, and takes
the worker no more file descriptors than this."""
SHUTDOWN_S = 1
"""For an answer under way when the worker ends."""


@asynccontextmanager
async def serving_metrics(
    sockets: list[socket.socket], shown: Callable[[], bytes], *, token: SecretStr | None
) -> AsyncIterator[None]:
    """Serve GET /metrics with what `shown` gives on `sockets`, inside the `async with`; no sockets, no server."""
    if not sockets:
        yield
        return
    server = _Beside(
        configured(
            _app(shown, token=token),
            protocol=ScrapeHttp,
            backlog=MAX_SCRAPERS,
            shutdown_s=SHUTDOWN_S,
        )
    )
    serving = asyncio.ensure_future(server.serve(sockets=sockets))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


def _app(shown: Callable[[], bytes], *, token: SecretStr | None) -> FastAPI:
    app = FastAPI(title="Inquest worker", redirect_slashes=False, docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/metrics", dependencies=[Depends(operator_only(token))])
    async def metrics_text() -> Response:
        return Response(shown(), media_type=METRICS_TYPE)

    app.add_middleware(Outermost)
    add_handlers(app)
    return app


class _Beside(uvicorn.Server):
    """A server beside the worker, whose signals are the worker's."""

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ScrapeHttp(BoundedHttp):
    """One connection; the oldest makes room for it when there are `MAX_SCRAPERS`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  # uvicorn's own
        super().__init__(*arguments, **named)
        self.since = time.monotonic()

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        others = [one for one in self.connections if isinstance(one, ScrapeHttp)]
        if len(others) >= MAX_SCRAPERS:
            oldest = min(others, key=lambda one: one.since)
            self.connections.discard(oldest)
            oldest.transport.abort()
        super().connection_made(transport)
