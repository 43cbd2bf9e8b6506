"""A tiny HTTP server on a loopback port: it answers as a test says and keeps a journal of what it was asked.

The bytes are real, the protocol is real; only the vendor behind it is scripted.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

MAX_HEAD_BYTES = 65_536


@dataclass(frozen=True)
class Seen:
    """One request as it came over the wire. `path` is decoded, `target` is not; `headers` has lower-case names."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def params(self) -> list[tuple[str, str]]:
        """Give the parameters of the query and of a posted form, in order."""
        found = parse_qsl(urlsplit(self.target).query, keep_blank_values=True)
        if self.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            found += parse_qsl(self.body.decode(), keep_blank_values=True)
        return found

    def param(self, name: str) -> str:
        return dict(self.params).get(name, "")


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclass(frozen=True)
class Stream:
    """A 200 whose chunks are sent as they come, `pause_s` apart. `length` is the promised Content-Length."""

    chunks: Iterable[bytes]
    pause_s: float = 0.0
    length: int | None = None
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclass(frozen=True)
class Hang:
    """Never answer; the connection stays open until the client leaves."""


@dataclass(frozen=True)
class Raw:
    """These bytes, then the end: for what is no HTTP."""

    sent: bytes = b""


Act = Reply | Stream | Hang | Raw
Handler = Callable[[Seen], Act | Awaitable[Act]]


class Loopback:
    """The running server. Change `handler` at any time."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.seen: list[Seen] = []
        self.port = 0
        self.scheme = "http"
        self.asked = asyncio.Event()
        """Set when a request has come in."""
        self.left = asyncio.Event()
        """Set when a client has left before it had its whole answer."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await _read(reader)) is not None:
                self.seen.append(seen)
                self.asked.set()
                said = self.handler(seen)
                act = said if isinstance(said, Reply | Stream | Hang | Raw) else await said
                if not await self._act(act, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()

    async def _act(self, act: Act, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        match act:
            case Reply(status=status, body=body, headers=headers):
                writer.write(_head(status, {**headers, "Content-Length": str(len(body))}) + body)
                await writer.drain()
                return True
            case Stream():
                return await self._stream(act, reader, writer)
            case Hang():
                await reader.read(1)
                self.left.set()
                return False
            case Raw(sent=sent):
                writer.write(sent)
                await writer.drain()
                return False

    async def _stream(self, act: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        framing = {"Transfer-Encoding": "chunked"} if act.length is None else {"Content-Length": str(act.length)}
        writer.write(_head(200, {**act.headers, **framing}))
        for chunk in act.chunks:
            if reader.at_eof() or writer.is_closing():
                self.left.set()
                return False
            writer.write(chunk if act.length is not None else b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()
            await asyncio.sleep(act.pause_s)
        if act.length is None:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        return False


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, target, headers, body)


@asynccontextmanager
async def loopback(handler: Handler, *, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[Loopback]:
    """Run a server for the length of a `with`; its connections are cut at the end. Port 0: any that is free."""
    fake = Loopback(handler)
    fake.scheme = "http" if tls is None else "https"
    running: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await fake.serve_one(reader, writer)
        except asyncio.CancelledError:
            pass  # the end of the test
        finally:
            running.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=tls, limit=MAX_HEAD_BYTES)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
