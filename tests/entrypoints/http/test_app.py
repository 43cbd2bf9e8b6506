"""The application as a whole: health, metrics, its own document, odd requests, and what nobody expected."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog

from inquest.entrypoints.http import protocol, standing
from inquest.entrypoints.http.exposition import OF_THE_SERVICE
from inquest.entrypoints.http.readers import Reader
from inquest.store.database import Database
from inquest.telemetry import create_metrics
from tests.entrypoints.http.service import AUTH, PATIENCE_S, Service, one_workspace, serving
from tests.fakes.loopback import Hang, loopback
from tests.fakes.wire import wire_to
from tests.store.door import Door, arrival, firing, intake
from tests.waiting import until

LIST = "/v1/investigations"
CANARY = "CANARY-4242"


@contextmanager
def away() -> Iterator[str]:
    """Give the URL of a database where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"postgresql://u:{CANARY}@127.0.0.1:{port}/d"


# ---- health


async def test_a_service_whose_database_is_away_lives_is_not_ready_and_asks_for_another_try(tmp_path: Path) -> None:
    with away() as url:
        async with serving(Database(url), one_workspace(tmp_path)) as service:
            alive, ready, listed, scraped = [
                await service.get(path) for path in ("/healthz", "/readyz", LIST, "/metrics")
            ]
            posted = await service.client.post("/v1/alerts/am", content=b'{"version": "4", "alerts": []}')

    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (
        503,
        {"status": "not ready", "missing": "the database does not answer"},
    )
    assert (listed.status_code, listed.headers["retry-after"], posted.status_code) == (503, "5", 503)
    assert (scraped.status_code, "inquest_database_up 0.0" in scraped.text) == (200, True)
    assert CANARY not in listed.text + ready.text + posted.text


async def test_a_database_that_hangs_holds_up_neither_a_probe_nor_a_scrape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing.OneAtATime.answer, "__defaults__", (0.1,))
    async with loopback(lambda _: Hang()) as server:
        database = Database(f"postgresql://u@127.0.0.1:{server.port}/d")
        async with serving(database, one_workspace(tmp_path)) as service:
            probes = await asyncio.gather(*(service.get("/readyz") for _ in range(20)), service.get("/healthz"))
            scraped = await service.get("/metrics")
        await database.aclose()

    assert [one.status_code for one in probes] == [503] * 20 + [200]
    assert "inquest_database_up 0.0" in scraped.text


async def test_a_database_that_falls_silent_is_told_to_senders_long_before_their_patience_ends_and_nothing_is_lost(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inquest.runtime.intake.ACCEPT_TIMEOUT_S", 2 * PATIENCE_S)
    async with wire_to(rows.conninfo) as (wire, url), serving(Database(url), one_workspace(tmp_path)) as service:
        assert (await _firing(service, 0)).status_code == 202
        wire.fall_silent()
        refused = await asyncio.gather(*(_firing(service, n) for n in range(1, 20)))
        again = await _firing(service, 20)
        wire.speak()
        taken = await asyncio.gather(*(_firing(service, n) for n in range(30)))

    assert {(one.status_code, one.headers["retry-after"]) for one in (*refused, again)} == {(503, "5")}
    assert {one.status_code for one in taken} == {202}
    assert rows.column("select count(*) from alert") == [30]


async def _firing(service: Service, number: int) -> httpx2.Response:
    labels = {"alertname": "Broken", "instance": str(number)}
    alert = {"status": "firing", "labels": labels, "fingerprint": f"{number:x}"}
    return await service.client.post("/v1/alerts/am", json={"version": "4", "groupKey": "{}", "alerts": [alert]})


async def test_twenty_probes_of_a_hanging_database_are_one_question() -> None:
    asked = 0

    async def hang() -> None:
        nonlocal asked
        asked += 1
        await asyncio.Event().wait()

    question = standing.OneAtATime(hang)
    answers = await asyncio.gather(*(question.answer(0.01) for _ in range(20)), return_exceptions=True)

    assert asked == 1
    assert {type(one).__name__ for one in answers} == {"StoreUnavailable"}
    assert question._asking is not None
    question._asking.cancel()


async def test_a_database_without_a_schema_is_not_ready_and_says_what_to_run(service: Service, rows: Door) -> None:
    assert (await service.get("/readyz")).json() == {"status": "ready"}
    rows.rows("drop table intake_receipt cascade")

    answer = await service.get("/readyz")

    assert (answer.status_code, answer.json()["missing"]) == (503, "the database has no schema; run: inquest migrate")


# ---- metrics


async def test_every_metric_of_the_service_has_a_name_of_ours_and_is_served(service: Service) -> None:
    text = (await service.get("/metrics")).text

    told = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) - {"inquest_accept_seconds_created"}
    ours = {one.name for name in OF_THE_SERVICE for one in getattr(create_metrics(), name).collect()}
    assert {name.removesuffix("_total").removesuffix("_created") for name in told} == ours
    assert all(name.startswith("inquest_") for name in told)


async def test_what_runs_and_waits_is_what_the_database_says_at_the_scrape(service: Service, rows: Door) -> None:
    async def gauge(name: str) -> float | None:
        found = re.search(
            rf"^inquest_{name}(?:\{{workspace=\"default\"\}})? (\S+)$",
            (await service.get("/metrics")).text,
            re.MULTILINE,
        )
        return None if found is None else float(found[1])

    assert [await gauge("queued"), await gauge("running"), await gauge("database_up")] == [0, 0, 1]
    await rows.take(arrival(firing(), into=intake(workspace="default")))
    rows.rows("update investigation set created_at = created_at - interval '1 hour'")
    assert await gauge("queued") == 1
    assert (await gauge("oldest_queued_seconds") or 0) >= 3_600
    rows.end_investigation()
    assert [await gauge("queued"), await gauge("oldest_queued_seconds")] == [0, 0]


async def test_a_post_is_counted(service: Service) -> None:
    await service.client.post("/v1/alerts/am", content=b'{"version": "4", "alerts": []}')

    assert service.metric("inquest_intake_posts_total", intake="am", code="202") == 1


# ---- the document


async def test_the_document_is_served_and_every_reference_in_it_leads_somewhere(service: Service) -> None:
    document = (await service.get("/openapi.json")).json()

    assert document["openapi"].startswith("3.")
    _every_reference_leads_somewhere(document, document)


def _every_reference_leads_somewhere(part: Any, document: Any) -> None:  # noqa: ANN401  # JSON
    if isinstance(part, dict):
        if "$ref" in part:
            found = document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
        for inner in part.values():
            _every_reference_leads_somewhere(inner, document)
    elif isinstance(part, list):
        for inner in part:
            _every_reference_leads_somewhere(inner, document)


# ---- odd requests


async def test_nothing_redirects(service: Service) -> None:
    for path in (f"{LIST}/", "/healthz/", "/metrics/", "//healthz", f"{LIST}//", "/v1", "/", "/docs", "/redoc"):
        answer = await service.send("GET", path)

        assert answer.status_code == 404, path
        assert answer.json() == {"error": {"code": "not_found", "message": "no such thing here"}}
        assert "location" not in answer.headers


async def test_a_probe_may_ask_for_the_head_alone(service: Service) -> None:
    for path in ("/healthz", "/readyz"):
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()

        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POST"])
async def test_another_method_is_refused_in_our_form(service: Service, method: str) -> None:
    for path in (LIST, "/healthz", "/metrics"):
        answer = await service.send(method, path)

        assert answer.status_code == 405
        assert answer.json() == {"error": {"code": "method_not_allowed", "message": "not by this method"}}
        assert "GET" in answer.headers["allow"]


async def test_a_refused_method_is_told_every_one_that_the_path_has(service: Service) -> None:
    for path, methods in ((f"{LIST}/{'0' * 32}", "DELETE, GET"), (LIST, "GET"), (f"{LIST}/{'0' * 32}/rerun", "POST")):
        answer = await service.send("PUT", path)

        assert (answer.status_code, answer.headers["allow"]) == (405, methods)


async def test_what_is_no_request_is_refused_and_the_service_goes_on(service: Service) -> None:
    for raw in (
        b"BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nBroken\r\n\r\n",
        b"\x16\x03\x01 tls\r\n\r\n",
    ):
        assert (await service.say(raw)).status in {400, 404, 405}

    assert (await service.get("/healthz")).status_code == 200


# ---- bounds of a head


async def test_a_head_over_its_bound_is_refused(service: Service) -> None:
    line = b"X-Padding: " + b"x" * 8_000 + b"\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\n" + line * (protocol.MAX_HEAD_BYTES // len(line) + 2))
    answer = await reader.read()
    writer.close()

    assert b" 431 " in answer.split(b"\r\n")[0]
    assert json.loads(answer.split(b"\r\n\r\n")[1])["error"]["code"] == "head_too_large"
    assert (await service.get("/healthz")).status_code == 200


async def test_a_slow_head_and_a_silent_connection_are_closed(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.1)
    async with serving(rows.database, one_workspace(tmp_path)) as service:
        for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost:"):
            reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
            writer.write(begun)
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()


async def test_the_time_of_a_head_ends_with_the_head(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[protocol.BoundedHttp] = []
    made = protocol.BoundedHttp.connection_made

    def noted(line: protocol.BoundedHttp, transport: asyncio.Transport) -> None:
        lines.append(line)
        made(line, transport)

    monkeypatch.setattr(protocol.BoundedHttp, "connection_made", noted)
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    for _ in range(2):
        writer.write(b"POST /v1/alerts/am HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{")
        await until(lambda: lines and not lines[0]._in_head)
        assert lines[0]._late is None
        writer.write(b"}")
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 202 " in head
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        await reader.readexactly(int(length[1]))
    writer.close()


async def test_dripping_bytes_between_requests_do_not_keep_a_connection(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.1)
    async with serving(rows.database, one_workspace(tmp_path)) as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"}"), 10)

        async def drip() -> bool:
            writer.write(b"\r\n")
            return reader.at_eof() or writer.is_closing()

        reading = asyncio.ensure_future(reader.read())
        await until(drip)
        assert await asyncio.wait_for(reading, 10) == b""
        writer.close()


async def test_connections_that_nobody_uses_make_room(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 8)
    async with serving(rows.database, one_workspace(tmp_path)) as service:
        idle = [await _kept_alive(service) for _ in range(8)]

        assert (await service.get("/healthz")).status_code == 200

        for reader, writer in idle:
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()


async def test_connections_that_are_used_are_kept_and_one_more_is_told_to_come_again(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 8)
    async with serving(rows.database, one_workspace(tmp_path)) as service:
        used = [await asyncio.open_connection("127.0.0.1", service.port) for _ in range(8)]
        for _, writer in used:
            writer.write(b"POST /v1/alerts/am HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{")
            await writer.drain()

        refused = await service.get("/healthz")

        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
        assert (refused.headers["retry-after"], refused.headers["connection"]) == ("5", "close")
        for reader, writer in used:
            writer.write(b"}")
            assert b" 202 " in await asyncio.wait_for(reader.readuntil(b"\r\n"), 10)
            writer.close()


async def _kept_alive(service: Service) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await asyncio.wait_for(reader.readuntil(b"}"), 10)
    return reader, writer


# ---- what nobody expected


async def test_an_exception_that_nobody_expected_is_a_500_that_says_nothing_and_is_reported(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[BaseException] = []
    monkeypatch.setattr("inquest.entrypoints.http.problems.report_error", lambda error, tags: reported.append(error))

    async def broken(*_: object) -> bytes:
        raise RuntimeError(CANARY)

    taken = await rows.take(arrival(firing(), into=intake(workspace="default")))
    found = taken.investigations[0].investigation_id

    monkeypatch.setattr(Reader, "__init__", _with_report(Reader.__init__, broken))
    with structlog.testing.capture_logs() as logged:
        async with serving(rows.database, one_workspace(tmp_path)) as service:
            answer = await service.get(f"{LIST}/{found}/report")
            after = await service.get("/healthz")

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert CANARY not in answer.text + str(logged)
    assert (answer.headers["x-content-type-options"], answer.headers["cache-control"]) == ("nosniff", "no-store")
    assert [str(one) for one in reported] == [CANARY]
    assert {"event": "request_failed", "error": "RuntimeError", "log_level": "error"} in logged
    assert after.status_code == 200


def _with_report(init: Any, report: Any) -> Any:  # noqa: ANN401  # a dataclass's own
    def made(self: Reader, **parts: Any) -> None:  # noqa: ANN401  # likewise
        init(self, **{**parts, "report": report})

    return made


async def test_a_value_that_json_cannot_hold_is_no_way_to_a_500(service: Service) -> None:
    for query in ("limit=nan", "since=nan", "after=nan", "limit=Infinity", "form=nan"):
        for path in (LIST, f"{LIST}/{'0' * 32}/events", f"{LIST}/{'0' * 32}/report"):
            answer = await service.client.get(f"{path}?{query}", headers=AUTH)

            assert answer.status_code in {200, 404, 422}, (path, query)
