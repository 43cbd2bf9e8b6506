"""HTTP/1.1 as uvicorn speaks it, with bounds that it lacks: how large a head may be, how long it may take, and an answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.types import Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from inquest.entrypoints.http import problems

MAX_HEAD_BYTES = 65_536
"""Request line and headers; httptools itself takes any number. One that comes in one read may have 256 KiB."""
HEAD_TIMEOUT_S = 20.0
"""For a whole head, from the connection or from its first byte; between requests the keep-alive time holds."""
STALL_S = 60.0
"""A client that takes nothing of an answer for this long is gone, or does not mean to read it."""
MAX_CONNECTIONS = 1_000
"""Above it those that nobody uses are closed, and requests answered 503. The usual limit of open files is 1,024."""

_BODY = json.dumps({"error": {"code": "head_too_large", "message": f"the head is over {MAX_HEAD_BYTES} bytes"}})
_TOO_LARGE = (
    "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: application/json\r\n"
    f"content-length: {len(_BODY)}\r\n\r\n{_BODY}"
).encode("ascii")


class BoundedHttp(HttpToolsProtocol):
    """One connection. It is closed when a head is too large or too slow."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  # uvicorn's own
        super().__init__(*arguments, **named)
        self._in_head = True
        self._head_bytes = 0
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
        super().data_received(data)
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    @override
    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_is_here()
        app = self.app
        if self._is_crowded():
            self.app = _crowded
        super().on_headers_complete()
        self.app = app

    @override
    def on_message_complete(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()

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
