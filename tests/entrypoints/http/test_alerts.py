"""The door's order and its status codes, over a real socket and a real database."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import threading
import zlib

import pytest
from pydantic import SecretStr

from inquest.domain.intake import BasicAuth, BearerAuth
from inquest.sources import alertmanager
from inquest.store.accept import PostgresIntake
from inquest.store.database import Database
from tests.entrypoints.http.door_server import Gate, Watched, read_answer, served, small, until
from tests.store.door import POSTS, Door

FIRING = (POSTS / "single_firing.json").read_bytes()
GROUP = (POSTS / "group12_firing.json").read_bytes()
BEARER = BearerAuth(tokens=(SecretStr("not-a-real-token"), SecretStr("the-next-one")))
BASIC = BasicAuth(username="am", passwords=(SecretStr("pässword"),))


def basic(user: str, password: str) -> tuple[str, str]:
    return "Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def test_a_post_is_answered_202_with_ids_after_it_is_stored(rows: Door) -> None:
    async with served(rows) as service:
        answer = await service.post(GROUP)
        said = answer.json()

        assert (answer.status, said["state"], said["counts"]) == (202, "accepted", {"opened": 1, "joined": 11})
        (investigation,) = said["investigations"]
        assert rows.column("select investigation_id from investigation") == [investigation["investigation_id"]]
        assert rows.column("select receipt_id from intake_receipt") == [said["receipt_id"]]
        assert rows.column("select remote from intake_receipt") == ["127.0.0.1"]
        assert rows.column("select body from receipt_body") == [GROUP]
        assert service.metric("inquest_intake_posts_total", intake="am", code="202") == 1
        assert service.metric("inquest_intake_members_total", intake="am", word="joined") == 11


async def test_the_recorded_request_of_a_real_alertmanager_is_let_in(rows: Door) -> None:
    recorded = json.loads((POSTS / "bearer_auth_firing.headers.json").read_text())
    headers = [(name, value) for name, value in recorded["headers"] if name not in ("Content-Length", "Host")]
    async with served(rows, auth=BEARER) as service:
        answer = await service.post((POSTS / "bearer_auth_firing.json").read_bytes(), *headers)
    assert answer.status == 202


@pytest.mark.parametrize(
    ("auth", "headers"),
    [
        (BEARER, []),
        (BEARER, [("Authorization", "Bearer wrong")]),
        (BEARER, [("Authorization", "Bearer ")]),
        (BEARER, [("Authorization", "not-a-real-token")]),
        (BEARER, [("Authorization", "Basic not-a-real-token")]),
        (BEARER, [("Authorization", "Bearer not-a-real-toke")]),
        (BEARER, [("Authorization", "Bearer not-a-real-token")] * 2),
        (BEARER, [("Authorization", "Bearer \xb9\xb2\xb3")]),
        (BASIC, [basic("am", "password")]),
        (BASIC, [basic("other", "pässword")]),
        (BASIC, [("Authorization", "Basic ===")]),
        (BASIC, [("Authorization", "Basic \xb9\xb2\xb3")]),
        (BASIC, [("Authorization", "Bearer pässword".encode().decode("latin-1"))]),
    ],
)
async def test_wrong_credentials_are_401_and_leave_nothing(
    rows: Door, auth: BearerAuth | BasicAuth, headers: list[tuple[str, str]]
) -> None:
    async with served(rows, auth=auth) as service:
        answer = await service.post(FIRING, *headers)

        assert answer.status == 401
        assert b"token" not in answer.body.replace(b"bearer token", b"")
    assert rows.column("select count(*) from intake_receipt") == [0]


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        (BEARER, ("Authorization", "Bearer not-a-real-token")),
        (BEARER, ("authorization", "bearer the-next-one")),
        (BASIC, basic("am", "pässword")),
    ],
)
async def test_right_credentials_open_the_door(
    rows: Door, auth: BearerAuth | BasicAuth, header: tuple[str, str]
) -> None:
    async with served(rows, auth=auth) as service:
        assert (await service.post(FIRING, header)).status == 202


async def test_wrong_credentials_are_refused_before_the_body_is_sent(rows: Door) -> None:
    async with served(rows, auth=BEARER) as service, service.line() as (reader, writer):
        writer.write(b"POST /v1/alerts/am HTTP/1.1\r\nHost: door\r\nContent-Length: 1000000\r\n\r\n")
        await writer.drain()
        assert (await read_answer(reader)).status == 401


async def test_the_signature_is_checked_over_the_bytes_as_sent_before_anything_is_read_from_them(rows: Door) -> None:
    source = Watched()
    async with served(rows, sources={"alertmanager": source}) as service:
        assert (await service.post(gzip.compress(FIRING), ("Content-Encoding", "gzip"))).status == 202
    assert source.asked == ["authorize", "verify b'\\x1f\\x8b'", "parse b'{\"'"]


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(FIRING)),
        ("x-gzip", gzip.compress(FIRING[:99]) + gzip.compress(FIRING[99:])),
        ("GZIP", gzip.compress(FIRING)),
        ("deflate", zlib.compress(FIRING)),
        ("deflate", zlib.compress(FIRING, wbits=-15)),
        ("identity", FIRING),
    ],
)
async def test_compressed_bodies_are_stored_inflated(rows: Door, encoding: str, body: bytes) -> None:
    async with served(rows) as service:
        assert (await service.post(body, ("Content-Encoding", encoding))).status == 202
    assert rows.column("select body from receipt_body") == [FIRING]


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("br", FIRING, 415),
        ("zstd", FIRING, 415),
        ("gzip, gzip", gzip.compress(gzip.compress(FIRING)), 415),
        ("deflate, gzip", FIRING, 415),
        ("gzip", gzip.compress(FIRING)[:-9], 400),
        ("gzip", gzip.compress(FIRING) + b"rest", 400),
        ("gzip", FIRING, 400),
        ("deflate", zlib.compress(FIRING)[:-9], 400),
        ("deflate", zlib.compress(FIRING) + b"rest", 400),
        ("deflate", b"", 400),
        ("deflate", b"\xff\xff", 400),
    ],
)
async def test_what_cannot_be_inflated_is_refused(rows: Door, encoding: str, body: bytes, status: int) -> None:
    async with served(rows) as service:
        answer = await service.post(body, ("Content-Encoding", encoding))

        assert answer.status == status
        assert service.metric("inquest_intake_posts_total", intake="am", code=str(status)) == 1
    assert rows.column("select count(*) from intake_receipt") == [0]


async def test_a_body_over_the_cap_is_413_before_it_is_sent(rows: Door) -> None:
    async with served(rows) as service, service.line() as (reader, writer):
        writer.write(b"POST /v1/alerts/am HTTP/1.1\r\nHost: door\r\nContent-Length: 16777217\r\n\r\n")
        await writer.drain()
        assert (await read_answer(reader)).status == 413


async def test_a_chunked_body_over_the_cap_is_413_while_it_comes(rows: Door) -> None:
    async with served(rows, limits=small(max_body_bytes=1_000)) as service:
        answer = await service.say(
            b"POST /v1/alerts/am HTTP/1.1\r\nHost: door\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
            + b"x" * 1001
            + b"\r\n"
        )
    assert answer.status == 413


async def test_an_inflated_body_over_the_cap_is_413(rows: Door) -> None:
    async with served(rows, limits=small(max_body_bytes=len(FIRING) - 1)) as service:
        assert (await service.post(gzip.compress(FIRING), ("Content-Encoding", "gzip"))).status == 413


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "invalid_json at byte 0"),
        (b"\xff\xfe\x00", "invalid_utf-16-le at byte 2"),
        (b"not json", "invalid_json at byte 0"),
        (b"[" * 100_000, "too_deep: nested deeper than 64"),
        (b'{"custom": "payload"}', "not_v4: missing version, alerts"),
        (b'{"version": "1", "alerts": [{}]}', "not_v4: another version"),
    ],
)
async def test_what_is_authenticated_but_not_understood_is_202_and_quarantined(
    rows: Door, body: bytes, reason: str
) -> None:
    async with served(rows) as service:
        answer = await service.post(body)
        assert (answer.status, answer.json()["state"]) == (202, "quarantined")
    (receipt,) = await rows.alerts.receipts("acme")
    assert receipt.reason == reason
    assert await rows.alerts.body("acme", receipt.body_digest) == body


@pytest.mark.parametrize("path", ["/v1/alerts/am/", "/v1/alerts/am?x=1"])
async def test_a_trailing_slash_or_a_query_is_no_redirect(rows: Door, path: str) -> None:
    async with served(rows) as service:
        assert (await service.post(FIRING, path=path)).status == 202


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/v1/alerts/other", "POST", 404),
        ("/v1/alerts/" + "x" * 3000, "POST", 404),
        ("/v1/alerts", "POST", 404),
        ("//v1/alerts/am", "POST", 404),
        ("/v1/alerts/am", "PUT", 405),
        ("/v1/alerts/am", "GET", 405),
    ],
)
async def test_other_paths_and_methods_are_errors_and_no_redirects(
    rows: Door, path: str, method: str, status: int
) -> None:
    async with served(rows) as service:
        assert (await service.post(FIRING, path=path, method=method)).status == status


async def test_bl_005_overload_is_503_and_a_sender_that_repeats_gets_everything_in(rows: Door) -> None:
    gate = Gate(rows.intake)
    async with served(rows, gate, limits=small(max_in_flight=2)) as service:
        holding = [asyncio.create_task(service.post(body)) for body in (FIRING, GROUP)]
        await until(lambda: gate.waiting == 2)
        refused = await service.post(FIRING)

        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert service.metric("inquest_intake_backpressure_total", reason="in_flight") == 1
        gate.open.set()
        assert [answer.status for answer in await asyncio.gather(*holding)] == [202, 202]
        assert (await service.post(FIRING)).status == 202
    assert rows.accounts()["accepted"] == 14


async def test_bodies_that_are_read_share_a_bounded_memory(rows: Door) -> None:
    async with served(rows, limits=small(max_buffered_bytes=2_000)) as service, service.line() as (reader, writer):
        writer.write(b"POST /v1/alerts/am HTTP/1.1\r\nHost: door\r\nContent-Length: 1900\r\n\r\n" + b" " * 1800)
        await writer.drain()

        while (await service.post(FIRING)).status != 503:
            pass
        assert service.metric("inquest_intake_backpressure_total", reason="buffers_full") == 1
        writer.write(b" " * 100)
        assert (await read_answer(reader)).status == 202
        assert (await service.post(FIRING)).status == 202


async def test_a_database_that_is_down_is_503_with_retry_after(rows: Door) -> None:
    nowhere = Database("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    async with served(rows, PostgresIntake(nowhere)) as service:
        answer = await service.post(FIRING)

        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert service.metric("inquest_intake_backpressure_total", reason="store_unavailable") == 1
    await nowhere.aclose()


async def test_a_slow_body_times_out_and_its_neighbour_does_not(rows: Door) -> None:
    async with served(rows, limits=small(read_timeout_s=0.2)) as service, service.line() as (reader, writer):
        writer.write(b"POST /v1/alerts/am HTTP/1.1\r\nHost: door\r\nContent-Length: 100\r\n\r\nslow")
        await writer.drain()
        assert (await service.post(FIRING)).status == 202
        assert (await read_answer(reader)).status == 408
    assert rows.column("select count(*) from intake_receipt") == [1]


async def test_a_sender_that_goes_away_in_its_body_leaves_nothing_and_no_error(rows: Door) -> None:
    async with served(rows) as service:
        async with service.line() as (_, writer):
            writer.write(b"POST /v1/alerts/am HTTP/1.1\r\nHost: door\r\nContent-Length: 100\r\n\r\nhalf")
            await writer.drain()
        await until(lambda: service.metric("inquest_intake_posts_total", intake="am", code="400") == 1)
        assert (await service.post(FIRING)).status == 202
    assert rows.column("select count(*) from intake_receipt") == [1]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (
            b"POST /v1/alerts/am HTTP/1.1\r\nHost: d\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (b"POST /v1/alerts/am HTTP/1.1\r\nHost: d\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST /v1/alerts/am HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /v1/alerts/am HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}", 202),
        (b"POST /v1/alerts/am HTTP/1.1\r\nHost: d\r\n\r\n", 202),
    ],
)
async def test_broken_http_is_answered_and_the_door_stays_open(rows: Door, raw: bytes, status: int) -> None:
    async with served(rows) as service:
        assert (await service.say(raw)).status == status
        assert (await service.post(FIRING)).status == 202


async def test_a_sender_that_waits_for_100_continue_is_told_to_go_on(rows: Door) -> None:
    head = f"POST /v1/alerts/am HTTP/1.1\r\nHost: d\r\nContent-Length: {len(FIRING)}\r\nExpect: 100-continue\r\n\r\n"
    async with served(rows) as service, service.line() as (reader, writer):
        writer.write(head.encode())
        await writer.drain()
        assert (await read_answer(reader)).status == 100
        writer.write(FIRING)
        assert (await read_answer(reader)).status == 202


async def test_large_and_compressed_bodies_are_parsed_beside_the_event_loop(rows: Door) -> None:
    source = Watched()
    async with served(rows, sources={"alertmanager": source}, limits=small(small_body_bytes=5_000)) as service:
        await service.post(FIRING)
        await service.post(GROUP)
        await service.post(gzip.compress(FIRING), ("Content-Encoding", "gzip"))

    here = threading.get_ident()
    assert [thread == here for thread in source.parsed_in] == [True, False, False]


async def test_bl_075_large_bodies_wait_for_a_slot_and_others_do_not(rows: Door) -> None:
    gate = Gate(rows.intake)
    limits = small(large_at_once=2, small_body_bytes=5_000, large_body_bytes=5_000, large_wait_s=0.1)
    async with served(rows, gate, limits=limits) as service:
        large = [asyncio.create_task(service.post(GROUP)) for _ in range(2)]
        await until(lambda: gate.waiting == 2)
        assert (await service.post(GROUP)).status == 503
        assert service.metric("inquest_intake_backpressure_total", reason="large_bodies") == 1

        quick = asyncio.create_task(service.post(FIRING))
        await until(lambda: gate.waiting == 3)
        gate.open.set()
        assert {answer.status for answer in await asyncio.gather(*large, quick)} == {202}


async def test_parsing_is_what_the_vendor_file_says(rows: Door) -> None:
    """The door adds nothing: what it stores is what parse gives."""
    async with served(rows) as service:
        await service.post(GROUP)
    stored = rows.column("select convert_from(body, 'UTF8')::jsonb ->> 'fingerprint' from alert")
    assert sorted(stored) == sorted(alert.fingerprint for alert in alertmanager.parse(GROUP).alerts)
