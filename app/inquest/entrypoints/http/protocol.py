"""HTTP/1.1 as uvicorn speaks it, with bounds that it lacks: how large a head may be, how long it may take, and an answer."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from inquest.entrypoints.http import problems
from inquest.entrypoints.http.outermost import EVERY_ANSWER

httptools = httptools_impl.httptools  # type: ignore[attr-defined]  # the parser that uvicorn brings, of its own release

MAX_HEAD_BYTES = 65_536
"""Request line and headers; httptools itself takes any number."""
MAX_HEADERS = 256
"""Ten thousand fit into as many bytes, and whatever walks over them walks for long."""
HEAD_TIMEOUT_S = 20.0
"""For a whole head, from the connection or from its first byte; between requests the keep-alive time holds."""
STALL_S = 60.0
"""A client that takes nothing of an answer for this long is gone, or does not mean to read it."""
MAX_CONNECTIONS = 1_000
"""Above it those that nobody uses are closed, and requests answered 503. The usual limit of open files is 1,024."""


def _last_words(status: HTTPStatus, code: str, message: str) -> bytes:
    """Write an answer to what is no request: it never reaches the application."""
    body = json.dumps({"error": {"code": code, "message": message}})
    headers = {
        "connection": "close",
        "content-type": "application/json",
        "content-length": str(len(body)),
        **EVERY_ANSWER,
    }
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        *(f"{name.lower()}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", body]).encode("ascii")


_BROKEN = _last_words(HTTPStatus.BAD_REQUEST, "unreadable", "this is no HTTP/1.1 request")
_TOO_LARGE = _last_words(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "head_too_large",
    f"the head is over {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} headers",
)


class _HeadTooLargeError(Exception):
    """Ends the reading of a head."""


class BoundedHttp(HttpToolsProtocol):
    """One connection. It is closed when a head is too large or too slow."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  # uvicorn's own
        super().__init__(*arguments, **named)
        self._in_head = True
        self._head_bytes = 0
        """Of a head that has begun to come: what there is of its last header is not parsed yet."""
        self._parsed_bytes = 0
        """Of a head that may have come in one read with what follows it."""
        self._headers = 0
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._expect_head()
        if self._is_crowded():
            self._close_idle()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        self._is_read()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        self._stalled = self.loop.call_later(STALL_S, self.transport.abort)
        super().pause_writing()

    @override
    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    @override
    def data_received(self, data: bytes) -> None:
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn starts it as None
        if self._late is None and (cycle is None or cycle.response_complete):
            self._expect_head()
        self._head_bytes += len(data)
        self._unset_keepalive_if_required()
        try:
            self._parse(memoryview(data))
        except httptools.HttpParserError:
            self._end_with(_TOO_LARGE if self._is_over else _BROKEN)
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._end_with(_TOO_LARGE)

    @override
    def eof_received(self) -> bool | None:  # type: ignore[override]  # as asyncio has it; uvicorn's gives None
        """Go on answering a post that is here as a whole, though its sender has closed its half of the connection.

        Only a post: who waits for a stream of events and closes is gone.
        """
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.more_body or cycle.response_complete or self.scope["method"] != "POST":
            return None
        cycle.keep_alive = False
        return True

    @override
    def on_message_begin(self) -> None:
        self._parsed_bytes = self._headers = 0
        super().on_message_begin()

    @override
    def on_url(self, url: bytes) -> None:
        self._grow(len(url))
        super().on_url(url)

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        self._grow(len(name) + len(value))
        super().on_header(name, value)

    @override
    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # it comes again without that offer
        self._in_head = False
        self._head_is_here()
        app = self.app
        if self._is_crowded():
            self.app = _crowded
        super().on_headers_complete()
        self.app = app

    @override
    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()

    def _parse(self, data: memoryview) -> None:
        """Let the parser go through `data`. Raises HttpParserError.

        A request that offers another protocol ends the parser, which would take its body for that protocol: the alerts
        in it would be lost and answered 202. Java's own client offers HTTP/2 with its first post. An offer is ours to
        ignore (RFC 9110, 7.8), so its head is parsed once more without it.
        """
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offered:
                head = self._head_without_upgrade()
                self.parser = httptools.HttpRequestParser(self)
                self.parser.feed_data(head)
                data = data[offered.args[0] :]
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        method = self.parser.get_method()
        if method == b"CONNECT":
            raise httptools.HttpParserError
        first = b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode("ascii"))
        kept = (b"%b: %b" % header for header in self.headers if header[0] != b"upgrade")
        return b"\r\n".join([first, *kept, b"", b""])

    @property
    def _is_over(self) -> bool:
        return self._parsed_bytes > MAX_HEAD_BYTES or self._headers > MAX_HEADERS

    def _grow(self, count: int) -> None:
        """Count what is parsed of a head. An exception here ends the parser."""
        self._parsed_bytes += count
        if self._is_over:
            raise _HeadTooLargeError

    def _end_with(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()

    def _is_crowded(self) -> bool:
        return len(self.connections) > MAX_CONNECTIONS

    def _close_idle(self) -> None:
        """Close what waits for another request: its client opens a new one when it has something to say."""
        for other in tuple(self.connections):
            if isinstance(other, BoundedHttp) and other.is_idle:
                other.transport.close()

    @property
    def is_idle(self) -> bool:
        """Say whether the last answer is out, and nothing of another request has come."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and cycle.response_complete and self._late is None

    def _expect_head(self) -> None:
        self._late = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _head_is_here(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_read(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


async def _crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request above the connections that this process takes."""
    refused = problems.answer(503, "overloaded", "more connections than are taken at once: try again later")
    refused.headers["Connection"] = "close"
    await refused(scope, receive, send)
