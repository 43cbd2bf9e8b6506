"""A worker's own metrics: who reads them, and that whoever holds connections open keeps nobody out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from inquest.entrypoints.cli.listening import metrics_sockets
from inquest.entrypoints.http.exposition import OF_A_WORKER, exposition
from inquest.entrypoints.http.worker_metrics import MAX_SCRAPERS, serving_metrics
from inquest.settings import Settings
from inquest.telemetry import create_metrics
from tests.entrypoints.http.door_server import Answer, read_answer

ASKED = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n{}\r\n"
TOKEN = SecretStr("operator-CANARY-1")


@contextlib.asynccontextmanager
async def served(token: SecretStr | None = None) -> AsyncIterator[int]:
    """Serve a worker's metrics, one investigation counted, and give the port."""
    metrics = create_metrics()
    metrics.investigations.labels("succeeded", "concluded").inc()
    with metrics_sockets(Settings(worker_metrics_port=0)) as sockets:
        port = sockets[0].getsockname()[1]
        async with serving_metrics(sockets, partial(exposition, metrics, OF_A_WORKER), token=token):
            yield port


async def ask(port: int, header: str = "", *, path: str = "/metrics") -> Answer:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(ASKED.format(header).replace("/metrics", path).encode())
        await writer.drain()
        return await read_answer(reader)
    finally:
        writer.close()


async def test_a_scraper_finds_what_the_worker_counted_and_nothing_that_others_count() -> None:
    async with served() as port:
        answer = await ask(port)

    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    families = {one.name: one.samples for one in text_string_to_metric_families(answer.body.decode())}
    (counted,) = [one for one in families["inquest_investigations"] if one.name == "inquest_investigations_total"]
    assert (counted.labels, counted.value) == ({"status": "succeeded", "stop_reason": "concluded"}, 1)
    assert not {"inquest_database_up", "inquest_oldest_queued_seconds", "inquest_accept_seconds"} & families.keys()


async def test_nothing_else_is_there() -> None:
    async with served() as port:
        answers = [(await ask(port, path=path)).status for path in ("/", "/healthz", "/docs", "/openapi.json")]

    assert answers == [404] * 4


async def test_with_a_token_it_is_asked_for_and_without_one_only_this_machines_names_are_answered() -> None:
    async with served(TOKEN) as port:
        asked = ["", "Authorization: Bearer x\r\n", f"Authorization: Bearer {TOKEN.get_secret_value()}\r\n"]
        assert [(await ask(port, header)).status for header in asked] == [401, 401, 200]
    async with served() as port:
        assert (await ask(port, "X-Forwarded-Host: evil.example\r\n")).status == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert (await read_answer(reader)).status == 401
        writer.close()


async def test_whoever_holds_connections_open_keeps_no_scraper_out_and_the_oldest_is_closed_first() -> None:
    async with served() as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_SCRAPERS)]
        for _, writer in held:
            writer.write(b"GET /metrics HTTP/1.1\r\n")

        answer = await ask(port)

        assert answer.status == 200
        with contextlib.suppress(ConnectionResetError):
            assert await held[0][0].read() == b""
        held[1][1].write(b"Host: localhost\r\n\r\n")
        assert (await read_answer(held[1][0])).status == 200
        for _, writer in held:
            writer.close()


async def test_it_ends_with_the_worker_whoever_is_still_connected() -> None:
    async with served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics")

    assert await reader.read() == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await ask(port)
