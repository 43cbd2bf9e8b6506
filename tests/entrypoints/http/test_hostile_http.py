"""HTTP that is broken on purpose: an answer of ours or a closed connection, and the next sender is let in."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from inquest.entrypoints.http import protocol
from tests.entrypoints.http.door_server import PATIENCE_S, read_answer
from tests.entrypoints.http.service import Service
from tests.store.door import Door

FIRING = (Path(__file__).parents[2] / "data" / "alertmanager" / "single_firing.json").read_bytes()
POST = b"POST /v1/alerts/am HTTP/1.1\r\nHost: h\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def post(*headers: bytes, body: bytes = FIRING) -> bytes:
    lines = [b"Content-Length: %d" % len(body), *headers]
    return POST + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


NO_REQUEST = (
    POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    POST + b"Content-Length: -1\r\n\r\n{}",
    POST + b"Content-Length: 0x2\r\n\r\n{}",
    POST + b"Content-Length: 2, 2\r\n\r\n{}",
    POST + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
    POST + b"Content-Length : 2\r\n\r\n{}",
    POST + b"X: a\x00b\r\n\r\n",
    POST + b"X: a\rb\r\n\r\n",
    POST + b"\x00: x\r\n\r\n",
    POST + b"User-Agent: \x1b[2J\r\n\r\n",
    CHUNKED + b"-1\r\n\r\n",
    CHUNKED + b"ffffffffffffffffff\r\n{}\r\n",
    CHUNKED + b"2\r\n{}extra\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    b"POST /v1/alerts/am\x00 HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST /v1/alerts/\xff\xfe HTTP/1.1\r\nHost: h\r\n\r\n",
    b"post /v1/alerts/am HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST /v1/alerts/am HTTP/9.9\r\nHost: h\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: h\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"\r\n" * 100 + b"\x00",
)

TOO_LARGE = (
    post(*(b"X-%d: x" % n for n in range(10_000))),
    post(*(b"X: x" for _ in range(protocol.MAX_HEADERS))),
    post(b"X: " + b"x" * protocol.MAX_HEAD_BYTES),
    post(b"X: " + b"x" * 1_000_000),
    b"POST /v1/alerts/am?" + b"x" * protocol.MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: " + b"x" * protocol.MAX_HEAD_BYTES,
)

ODD = (
    post(*(b"X: x" for _ in range(protocol.MAX_HEADERS - 2))),
    post(b"X: " + b"x" * 60_000),
    post(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"),
    post(b"Connection: Upgrade", b"Upgrade: websocket"),
    CHUNKED + b"%x;name=%s\r\n%s\r\n0\r\nX-Trailer: x\r\n\r\n" % (len(FIRING), b"x" * 10_000, FIRING),
    CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in FIRING) + b"0\r\n\r\n",
    post(b"X-Forwarded-For: \xff\xfe", b"User-Agent: \xe2\x80\xa8", b"X-Request-Id: ${jndi:ldap://h/}"),
    post().replace(b"HTTP/1.1", b"HTTP/1.0"),
)

CUT = (
    POST + b"Content-Length: 1000\r\n\r\n" + FIRING[:100],
    CHUNKED + b"%x\r\n%s\r\n" % (len(FIRING), FIRING),
    POST + b"Content-Le",
)


async def test_what_is_no_request_is_400_in_our_form_stores_nothing_and_the_next_sender_is_let_in(
    service: Service, rows: Door
) -> None:
    for raw in NO_REQUEST:
        answer = await service.say(raw)
        assert (answer.status, answer.headers.get("content-type")) == (400, "application/json"), raw
        assert answer.json()["error"]["code"] == "unreadable"
        assert (answer.headers["connection"], answer.headers["x-content-type-options"]) == ("close", "nosniff")

    assert rows.column("select count(*) from intake_receipt") == [0]
    assert (await service.say(post())).status == 202


async def test_a_head_over_its_bounds_is_431_however_it_comes(service: Service) -> None:
    for raw in TOO_LARGE:
        answer = await service.say(raw)
        assert (answer.status, answer.json()["error"]["code"]) == (431, "head_too_large"), raw[:100]

    assert (await service.say(post())).status == 202


async def test_what_is_odd_and_means_one_thing_is_taken(service: Service, rows: Door) -> None:
    for raw in ODD:
        assert (await service.say(raw)).status == 202, raw[:100]

    assert rows.column("select state from intake_receipt where state <> 'accepted'") == []
    assert rows.accounts("default") == {"accepted": len(ODD), "opened": 1, "duplicate": len(ODD) - 1}


async def test_posts_in_one_go_are_answered_each_in_order(service: Service, rows: Door) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(post() + post(b"Content-Encoding: br") + post(body=b"{}") + post())
    answers = [await read_answer(reader) for _ in range(4)]
    writer.close()

    assert [one.status for one in answers] == [202, 415, 202, 202]
    assert [one.json().get("state") for one in answers] == ["accepted", None, "quarantined", "accepted"]
    assert rows.accounts("default") == {"accepted": 3, "opened": 1, "duplicate": 1, "quarantined": 1}


async def test_a_sender_that_closes_its_half_after_its_post_hears_the_answer(service: Service) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(post())
    writer.write_eof()
    answer = await read_answer(reader)

    assert answer.status == 202
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    writer.close()


async def test_a_post_that_ends_before_its_end_is_not_taken(service: Service, rows: Door) -> None:
    for half in CUT:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(half)
        writer.write_eof()
        said = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        assert said == b"" or json.loads(said.split(b"\r\n\r\n")[1])["error"]["code"] == "cut_off"

    assert rows.column("select count(*) from intake_receipt") == [0]
    assert (await service.say(post())).status == 202
