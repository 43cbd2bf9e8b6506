"""The alert door on a loopback port, in front of a real database, and a client that speaks raw HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import uvicorn
from fastapi import FastAPI

from inquest.domain.alert import Post
from inquest.domain.intake import Accepted, Arrival, Auth, Keyed
from inquest.entrypoints.http.alerts import Door, DoorLimits, alerts_router
from inquest.entrypoints.http.problems import add_handlers
from inquest.ports import Intake
from inquest.runtime.clock import RandomIds
from inquest.sources import SOURCES, alertmanager
from inquest.sources.shared.source import Headers
from inquest.telemetry import Metrics, create_metrics
from tests.store.door import Door as Rows
from tests.store.door import intake

PATIENCE_S = 20.0


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401  # JSON
        return json.loads(self.body)


class Gate:
    """An intake that lets posts through when told: it makes a moment last as long as a test needs."""

    def __init__(self, behind: Intake) -> None:
        self._behind = behind
        self.open = asyncio.Event()
        self.waiting = 0
        self.tries: list[str] = []

    async def accept(self, receipt_id: str, arrival: Arrival, members: Sequence[Keyed]) -> Accepted:
        self.tries.append(receipt_id)
        self.waiting += 1
        await self.open.wait()
        self.waiting -= 1
        return await self._behind.accept(receipt_id, arrival, members)


class Watched:
    """Alertmanager's source, which notes the order of what is asked of it and in which thread it parses."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.parsed_in: list[int] = []

    def authorize(self, headers: Headers, keys: Auth) -> None:
        self.asked.append("authorize")
        alertmanager.authorize(headers, keys)

    def verify(self, headers: Headers, body: bytes, keys: Auth) -> None:
        self.asked.append(f"verify {body[:2]!r}")
        alertmanager.verify(headers, body, keys)

    def parse(self, body: bytes) -> Post:
        self.asked.append(f"parse {body[:2]!r}")
        self.parsed_in.append(threading.get_ident())
        return alertmanager.parse(body)


@dataclass(frozen=True)
class Service:
    port: int
    metrics: Metrics
    rows: Rows

    async def post(
        self, body: bytes, *headers: tuple[str, str], path: str = "/v1/alerts/am", method: str = "POST"
    ) -> Answer:
        lines = [f"{method} {path} HTTP/1.1", "Host: door", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        return await self.say("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    async def say(self, raw: bytes, *, end: bool = False) -> Answer:
        """Send bytes as they are, and read one answer."""
        async with self.line() as (reader, writer):
            writer.write(raw)
            await writer.drain()
            if end:
                writer.write_eof()
            return await read_answer(reader)

    @contextlib.asynccontextmanager
    async def line(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    async with asyncio.timeout(PATIENCE_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Answer(int(head[0].split()[1]), headers, body)


@contextlib.asynccontextmanager
async def served(rows: Rows, behind: Intake | None = None, **changes: Any) -> AsyncIterator[Service]:  # noqa: ANN401
    """Serve the door of one intake, "am"; `changes` are fields of Door, `auth` and `limits` among them."""
    auth = changes.pop("auth", None)
    config = intake(**({"auth": auth} if auth else {}))
    metrics = create_metrics()
    door = Door(intakes={"am": config}, sources=SOURCES, intake=behind or rows.intake, ids=RandomIds(), metrics=metrics)
    app = FastAPI(redirect_slashes=False)
    add_handlers(app)
    app.include_router(alerts_router(replace(door, **changes)))

    @app.get("/healthz")
    async def healthz() -> str:
        return "ok"

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=5)
    )
    server.capture_signals = contextlib.nullcontext  # type: ignore[assignment,method-assign]
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield Service(listening.getsockname()[1], metrics, rows)
    finally:
        server.should_exit = True
        await serving
        listening.close()


def small(**limits: float) -> DoorLimits:
    return DoorLimits(**limits)  # type: ignore[arg-type]


async def until(met: Callable[[], bool]) -> None:
    """Wait for `met()` to hold."""
    async with asyncio.timeout(PATIENCE_S):
        while not met():  # noqa: ASYNC110  # what is waited for happens in another party, which has no event for it
            await asyncio.sleep(0.005)
