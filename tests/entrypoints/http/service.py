"""The whole HTTP application over a test's database, on a real socket, as `inquest serve` runs it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from pydantic import SecretStr

from inquest.bootstrap.home import Home
from inquest.bootstrap.processes import Process
from inquest.bootstrap.workspace import Workspaces
from inquest.entrypoints.cli.listening import bound_sockets
from inquest.entrypoints.http.server import Server, configured
from inquest.entrypoints.http.serving import build_app
from inquest.settings import Settings
from inquest.store.database import Database
from inquest.telemetry import create_metrics
from tests.bootstrap.files import NOBODY, OPEN_INTAKE, build, file_of
from tests.entrypoints.http.door_server import Answer, read_answer

TOKEN = "operator-CANARY-1"
AUTH = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE_S = 20.0


@dataclass(frozen=True)
class Service:
    port: int
    process: Process
    client: httpx2.AsyncClient

    async def get(self, path: str, headers: Mapping[str, str] = AUTH, /, **params: Any) -> httpx2.Response:  # noqa: ANN401
        return await self.client.get(path, headers=dict(headers), params=params or None)

    async def send(self, method: str, path: str, headers: Mapping[str, str] = AUTH) -> httpx2.Response:
        return await self.client.request(method, path, headers=dict(headers))

    async def post(self, path: str, body: object, headers: Mapping[str, str] = AUTH) -> httpx2.Response:
        """Post JSON, or bytes as they are."""
        given: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
        return await self.client.post(path, headers=dict(headers), **given)

    async def say(self, raw: bytes) -> Answer:
        """Send bytes as they are, and read one answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(raw)
            await writer.drain()
            return await read_answer(reader)
        finally:
            writer.close()

    def metric(self, name: str, **labels: str) -> float:
        return self.process.metrics.registry.get_sample_value(name, labels) or 0.0


def one_workspace(folder: Path) -> Workspaces:
    return build(file_of(intakes={"am": OPEN_INTAKE}), folder)


@contextlib.asynccontextmanager
async def serving(
    database: Database, workspaces: Workspaces, *, token: str | None = TOKEN, host: str = "127.0.0.1"
) -> AsyncIterator[Service]:
    """Serve inside the `async with`. The database stays the test's."""
    process = Process(
        settings=Settings(host=host, operator_token=None if token is None else SecretStr(token)),
        home=Home(url=database.url, key=NOBODY, is_embedded=False, keep_alive=lambda: None),
        database=database,
        workspaces=workspaces,
        metrics=create_metrics(),
    )
    server = Server(configured(build_app(process)))
    with bound_sockets("127.0.0.1", 0) as sockets:
        running = asyncio.create_task(server.serve(sockets=sockets))
        port = sockets[0].getsockname()[1]
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, trust_env=False, follow_redirects=False
        ) as client:
            try:
                while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
                    await asyncio.sleep(0.005)
                yield Service(port, process, client)
            finally:
                server.should_exit = True
                await running
    for workspace in workspaces.values():
        await workspace.aclose()
