"""A small HTTP/1.1 client: it shares the cores with what it measures, so it must cost little.

One request at a time on a connection that stays open; answers with a Content-Length only, which ours have.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import cast

from typing_extensions import override

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(frozen=True)
class Answer:
    """Status and body of one answer."""

    status: int
    body: bytes


def posting(path: str, body: bytes, *, host: str, token: str) -> bytes:
    """Write a POST of JSON with a bearer token."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


def whole_answer(received: bytes | bytearray) -> Answer | None:
    """Read an answer once all of it is there, None before that. Raises ConnectionError for one without a length."""
    head, found, body = bytes(received).partition(_END_OF_HEAD)
    if not found:
        return None
    first, *lines = head.split(b"\r\n")
    length = next((line.split(b":", 1)[1] for line in lines if line.lower().startswith(_LENGTH)), None)
    if length is None:
        raise ConnectionError("an answer without a length")
    return Answer(int(first.split(b" ", 2)[1]), body) if len(body) >= int(length) else None


class Connection(asyncio.Protocol):
    """An open connection. `ask` is not to be called before the answer to the one before has come."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._received += data
        waiting = self._answer
        if waiting is None or waiting.done():
            return
        try:
            answer = whole_answer(self._received)
        except ConnectionError as error:
            waiting.set_exception(error)
            return
        if answer is not None:
            self._received.clear()
            waiting.set_result(answer)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the server went away"))

    async def ask(self, request: bytes) -> Answer:
        """Send `request` and wait for its answer. Raises ConnectionError when there will be none."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.close()


async def connect(host: str, port: int) -> Connection:
    """Open a connection. Raises OSError."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
    return connection
