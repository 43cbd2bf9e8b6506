"""A TCP line to a Unix socket that can be held: what is sent meanwhile arrives when it is let go, late and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHUNK_BYTES = 65_536


class CutLine:
    """A listener on loopback that passes everything on, both ways, while it is not held."""

    def __init__(self, socket_path: str) -> None:
        self.port = 0
        self._socket_path = socket_path
        self._passes = asyncio.Event()
        self._passes.set()
        self._calls: set[asyncio.Task[None]] = set()

    def hold(self) -> None:
        """Let nothing through: nobody is told, as when a network is cut in two."""
        self._passes.clear()

    def let_go(self) -> None:
        """Let everything through that was sent meanwhile."""
        self._passes.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        with suppress(OSError, asyncio.CancelledError):
            there, back = await asyncio.open_unix_connection(self._socket_path)
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                await self._passes.wait()
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async def _end(self) -> None:
        for task in self._calls:
            task.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)


@asynccontextmanager
async def cut_line(socket_path: str) -> AsyncIterator[CutLine]:
    """Listen for the length of a `with`; connections are cut at its end."""
    line = CutLine(socket_path)
    server = await asyncio.start_server(line._serve, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        await line._end()
