from __future__ import annotations

import pytest

from bench.http11 import Answer, connect, posting, whole_answer
from tests.fakes.loopback import Raw, Reply, Seen, loopback

WHOLE = b"HTTP/1.1 202 Accepted\r\nserver: x\r\nContent-Length: 5\r\n\r\nhello"


def test_an_answer_is_read_once_all_of_it_has_come() -> None:
    assert [whole_answer(WHOLE[:end]) for end in range(len(WHOLE))] == [None] * len(WHOLE)
    assert whole_answer(WHOLE) == Answer(202, b"hello")


def test_an_answer_without_a_length_is_refused() -> None:
    with pytest.raises(ConnectionError):
        whole_answer(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")


async def test_posts_on_one_connection_are_answered_in_turn() -> None:
    def answer(seen: Seen) -> Reply:
        return Reply(status=202, body=seen.headers["authorization"].encode() + seen.body)

    async with loopback(answer) as server:
        connection = await connect("127.0.0.1", server.port)
        answers = [
            await connection.ask(posting("/v1/alerts/am", body, host="h", token="t")) for body in (b"{1}", b"{2}")
        ]
        connection.close()

    assert answers == [Answer(202, b"Bearer t{1}"), Answer(202, b"Bearer t{2}")]
    assert [(seen.method, seen.target) for seen in server.seen] == [("POST", "/v1/alerts/am")] * 2


async def test_a_server_that_hangs_up_is_an_error_and_no_answer() -> None:
    async with loopback(lambda _: Raw()) as server:
        connection = await connect("127.0.0.1", server.port)
        request = posting("/", b"", host="h", token="t")
        with pytest.raises(ConnectionError):
            await connection.ask(request)
        with pytest.raises(ConnectionError):
            await connection.ask(request)
