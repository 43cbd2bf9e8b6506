"""A journal as a stream: each event once, in order, to the end, whoever reads, and whatever the database does."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from inquest.domain.event import Event
from inquest.entrypoints.http import protocol, streams
from inquest.entrypoints.http.investigations import asks_for_stream
from inquest.entrypoints.http.streams import frame
from inquest.errors import InquestError
from inquest.store.actions import PostgresActions
from tests.bootstrap.installations import Installation
from tests.entrypoints.http.service import AUTH, TOKEN, Service, one_workspace, serving
from tests.entrypoints.http.test_investigations import LIST, UNKNOWN, opened, run_one
from tests.store.door import Door
from tests.waiting import until

STREAM = {**AUTH, "Accept": "text/event-stream"}


class Listening:
    """What one client has read of a stream: comments, and events as a browser understands them."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.kinds: list[str] = []
        self.events: list[Any] = []
        self.comments = 0
        self.retry = ""

    def take(self, block: str) -> None:
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line)
        if "" in fields:
            self.comments += 1
        if "retry" in fields:
            self.retry = fields["retry"]
        if "data" in fields:
            self.ids.append(int(fields["id"]))
            self.kinds.append(fields["event"])
            self.events.append(json.loads(fields["data"]))


@contextlib.asynccontextmanager
async def listening(
    service: Service, found: str, *, last: int | None = None, query: str = ""
) -> AsyncIterator[tuple[Listening, asyncio.Task[None]]]:
    """Open a stream, and read it in a task that ends with it."""
    heard = Listening()
    headers = STREAM if last is None else {**STREAM, "Last-Event-ID": str(last)}
    async with service.client.stream("GET", f"{LIST}/{found}/events{query}", headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "content-length" not in answer.headers

        async def read() -> None:
            text = ""
            async for piece in answer.aiter_text():
                text += piece
                while "\n\n" in text:
                    block, text = text.split("\n\n", 1)
                    heard.take(block)

        reading = asyncio.create_task(read())
        try:
            yield heard, reading
        finally:
            reading.cancel()


async def whole(service: Service, found: str) -> list[Any]:
    found_events: list[Any] = (await service.get(f"{LIST}/{found}/events")).json()["events"]
    return found_events


# ---- to the end


async def test_a_stream_holds_every_event_once_and_ends_behind_the_last(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    found = await run_one(rows, tmp_path)

    async with listening(service, found) as (heard, reading):
        await reading

    events = await whole(service, found)
    assert heard.events == events
    assert heard.ids == [one["seq"] for one in events]
    assert heard.kinds == [one["body"]["kind"] for one in events]
    assert heard.retry == "2000"


async def test_what_is_written_while_it_is_read_comes_too(service: Service, rows: Door, tmp_path: Path) -> None:
    installation = Installation(rows, tmp_path)
    found = await installation.open()
    async with listening(service, found) as (heard, reading):
        await until(lambda: heard.retry)
        assert heard.ids == []
        await installation.run()
        await reading

    assert heard.events == await whole(service, found)
    assert heard.kinds[-1] == "run_succeeded"


async def test_a_cancel_ends_it(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")
    async with listening(service, found) as (heard, reading):
        await until(lambda: heard.retry)
        await service.send("POST", f"{LIST}/{found}/cancel")
        await reading
    assert heard.kinds == ["run_cancelled"]


async def test_a_delete_ends_it_and_the_next_try_says_so(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)
    rows.rows("update investigation set status = 'running'")
    async with listening(service, found) as (heard, reading):
        await until(lambda: "run_succeeded" in heard.kinds)
        rows.rows("update investigation set status = 'succeeded'")
        await PostgresActions(rows.database, "default").delete(found)
        await reading
    answer = await service.get(f"{LIST}/{found}/events", STREAM)
    assert answer.status_code == 410


# ---- taken up again


async def test_it_goes_on_behind_the_last_event_that_was_seen(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)
    last = len(await whole(service, found))

    for known in range(last):
        async with listening(service, found, last=known) as (heard, reading):
            await reading
        assert heard.ids == list(range(known + 1, last + 1))


async def test_the_header_goes_before_the_query(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)

    async with listening(service, found, last=3, query="?after=1") as (heard, reading):
        await reading
    assert heard.ids[0] == 4
    async with listening(service, found, query="?after=1") as (heard, reading):
        await reading
    assert heard.ids[0] == 2


async def test_one_that_has_ended_gives_204_which_stops_a_browser(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)
    last = len(await whole(service, found))

    for known in (last, last + 1, 2**31 - 1):
        answer = await service.get(f"{LIST}/{found}/events", {**STREAM, "Last-Event-ID": str(known)})
        assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("known", ["", "-1", "x", "1.5", "٣", "9" * 10, "9" * 5_000, "1e3", " "])
async def test_an_id_that_no_event_has_is_refused(service: Service, rows: Door, known: str) -> None:
    found = await opened(rows, "s")
    head = f"GET {LIST}/{found}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"

    answer = await service.say(f"{head}Accept: text/event-stream\r\nLast-Event-ID: {known}\r\n\r\n".encode())

    assert answer.status == 422
    assert answer.json()["error"]["message"] == "header.last-event-id: not the id of an event"


# ---- who asks, and how


@pytest.mark.parametrize(
    ("accept", "streams_"),
    [
        ("text/event-stream", True), ("TEXT/event-stream; q=1", True), ("application/json, text/event-stream", True),
        ("application/json", False), ("*/*", False), ("", False), ("text/event-streams", False),
    ],
)  # fmt: skip
def test_a_stream_is_what_the_accept_header_asks_for(accept: str, streams_: bool) -> None:
    assert asks_for_stream(accept) is streams_


async def test_errors_come_before_a_stream_begins(service: Service) -> None:
    assert (await service.get(f"{LIST}/{UNKNOWN}/events", STREAM)).status_code == 404
    assert (await service.get(f"{LIST}/x/events", STREAM)).status_code == 422
    assert (await service.get(f"{LIST}/{UNKNOWN}/events", {"Accept": "text/event-stream"})).status_code == 401


def test_no_text_breaks_out_of_its_event() -> None:
    hostile = "a\n\nid: 9\ndata: x\r\r\n\u2028\x85b"
    event = Event.parse(
        json.dumps(
            {
                "seq": 1, "batch_id": "b", "generation": 1, "attempt": 1, "schema_version": 1,
                "body": {"kind": "run_cancelled", "reason": hostile, "actor": "a", "detail": {}},
                "body_digest": "sha256:" + "0" * 64, "prev_digest": "sha256:" + "0" * 64,
                "committed_at": "2026-03-01T10:00:00Z",
            }
        )
    )  # fmt: skip

    written = frame(event)

    head, data = written.decode().split("data: ", 1)
    assert head == "id: 1\nevent: run_cancelled\n"
    assert data.endswith("\n\n")
    assert "\n" not in data[:-2]
    assert "\r" not in data
    assert Event.parse(data) == event


# ---- bounds


async def test_pages_are_bounded_and_nothing_is_lost_between_them(
    service: Service, rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await run_one(rows, tmp_path)
    monkeypatch.setattr(streams, "MAX_PAGE_EVENTS", 2)
    async with listening(service, found) as (heard, reading):
        await reading
    assert heard.events == await whole(service, found)
    monkeypatch.setattr(streams, "MAX_PAGE_BYTES", 1)
    async with listening(service, found) as (heard, reading):
        await reading
    assert heard.events == await whole(service, found)


async def test_silence_is_broken_by_comments_and_a_stream_has_an_end(
    service: Service, rows: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await opened(rows, "s")
    monkeypatch.setattr(streams, "HEARTBEAT_S", 0.01)
    async with listening(service, found) as (heard, reading):
        await until(lambda: heard.comments >= 3)
        assert not reading.done()
    monkeypatch.setattr(streams, "MAX_STREAM_S", 0.05)
    async with listening(service, found) as (heard, reading):
        await reading
    assert heard.ids == []


async def _open(service: Service, found: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(
        f"GET {LIST}/{found}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Accept: text/event-stream\r\n\r\n".encode()
    )
    return reader, writer, await reader.readuntil(b"\r\n\r\n")


async def test_more_than_the_process_has_are_refused_and_alerts_still_come_in(
    service: Service, rows: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_STREAMS", 50)
    found = await opened(rows, "s")

    many = [await _open(service, found) for _ in range(400)]

    good = [line for line in many if line[2].startswith(b"HTTP/1.1 200")]
    refused = [line for line in many if line[2].startswith(b"HTTP/1.1 503")]
    assert (len(good), len(refused)) == (50, 350)
    for _, _, head in refused:
        assert b"retry-after: 5" in head.lower()
        assert b"connection: close" in head.lower()
    posted = await service.client.post("/v1/alerts/am", content=b'{"version": "4", "alerts": []}')
    assert posted.status_code == 202
    for _, writer, _ in many:
        writer.close()
    await until(lambda: _is_taken_again(service, found))


async def _is_taken_again(service: Service, found: str) -> bool:
    _, writer, head = await _open(service, found)
    writer.close()
    return head.startswith(b"HTTP/1.1 200")


async def test_no_stream_holds_a_connection_to_the_database(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")
    many = [await _open(service, found) for _ in range(40)]

    used = [await service.get(LIST) for _ in range(10)]

    assert {answer.status_code for answer in used} == {200}
    busy = rows.column("select count(*) from pg_stat_activity where datname = current_database() and state <> 'idle'"
                       " and pid <> pg_backend_pid()")  # fmt: skip
    assert busy[0] <= 1
    for _, writer, _ in many:
        writer.close()


async def test_a_reader_that_takes_nothing_is_cut_and_its_place_is_free(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "STALL_S", 0.2)
    monkeypatch.setattr(streams, "MAX_STREAMS", 1)
    monkeypatch.setattr(streams, "HEARTBEAT_S", 0.0)
    monkeypatch.setattr(streams, "HEARTBEAT", b":" + b"x" * 1_000_000 + b"\n\n")  # more than the sockets hold
    found = await opened(rows, "s")
    async with serving(rows.database, one_workspace(tmp_path)) as service:
        reader, writer, head = await _open(service, found)
        assert head.startswith(b"HTTP/1.1 200")
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's has it

        await until(lambda: _is_taken_again(service, found))

        writer.close()
        assert reader is not None


# ---- the database, and the end of the process


async def test_a_database_that_restarts_is_waited_for(service: Service, rows: Door, tmp_path: Path) -> None:
    installation = Installation(rows, tmp_path)
    found = await installation.open()
    async with listening(service, found) as (heard, reading):
        await until(lambda: heard.retry)
        for _ in range(3):
            with contextlib.suppress(psycopg.Error):
                rows.rows("select pg_terminate_backend(pid) from pg_stat_activity"
                          " where datname = current_database() and pid <> pg_backend_pid()")  # fmt: skip
            await asyncio.sleep(streams.LOOK_S)
        with contextlib.suppress(InquestError):
            await installation.claim()  # what is left of the pool's old connections
        await installation.run()
        await reading
    assert heard.events == await whole(service, found)


async def test_a_service_that_ends_ends_its_streams_at_once(rows: Door, tmp_path: Path) -> None:
    found = await opened(rows, "s")
    async with serving(rows.database, one_workspace(tmp_path)) as service:
        reader, writer, head = await _open(service, found)
        assert head.startswith(b"HTTP/1.1 200")
    rest = await reader.read()
    assert rest.endswith(b"0\r\n\r\n")
    writer.close()
