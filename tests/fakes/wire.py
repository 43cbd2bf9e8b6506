"""A wire to a database that can fall silent: what is sent over it is taken, acknowledged, and never answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from psycopg.conninfo import conninfo_to_dict

PIECE_BYTES = 65_536

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@dataclass
class Wire:
    """Listens on `port` and passes everything on, while it is not silent."""

    port: int = 0
    taken: int = 0
    """Connections so far."""
    _passes: asyncio.Event = field(default_factory=asyncio.Event)

    def fall_silent(self) -> None:
        """Pass nothing on, of no connection, those to come among them."""
        self._passes.clear()

    def speak(self) -> None:
        """Pass on again, what was held back first."""
        self._passes.set()

    def lose(self) -> None:
        """Pass nothing more on of the connections that stand, ever; those to come are well."""
        self._passes.clear()
        self._passes = asyncio.Event()
        self._passes.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connect: Connect) -> None:
        self.taken += 1
        passes = self._passes
        with contextlib.suppress(ConnectionError):
            await passes.wait()
            from_there, to_there = await connect()
            try:
                await asyncio.gather(_pump(reader, to_there, passes), _pump(from_there, writer, passes))
            finally:
                to_there.close()
                writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passes: asyncio.Event) -> None:
    while piece := await reader.read(PIECE_BYTES):
        await passes.wait()
        writer.write(piece)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


@asynccontextmanager
async def wire_to(conninfo: str) -> AsyncIterator[tuple[Wire, str]]:
    """Give a wire to the database of `conninfo`, which is at a socket in a folder, and the URL over it."""
    there = conninfo_to_dict(conninfo)
    path = f"{there['host']}/.s.PGSQL.{there.get('port', 5432)}"
    wire, running = Wire(), set[asyncio.Task[None]]()
    wire.speak()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        task.add_done_callback(running.discard)
        with contextlib.suppress(asyncio.CancelledError):  # the end of the test
            await wire.carry(reader, writer, lambda: asyncio.open_unix_connection(path))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire, f"postgresql://{there['user']}@127.0.0.1:{wire.port}/{there['dbname']}"
    finally:
        server.close()
        for task in tuple(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
