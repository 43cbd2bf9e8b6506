"""Whether the database answers at all, asked over a connection of its own that nobody else waits for."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any

import psycopg

from inquest.errors import StoreUnavailable
from inquest.store.url import conninfo

PULSE_TIMEOUT_S = 0.5
"""For a question that touches no row. It is asked only where something else takes long already."""


class Pulse:
    """One connection, for one event loop. Its question goes past the pool, whose connections may all be at long work."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def felt(self) -> None:
        """Return when the database answers. Raises StoreUnavailable when it has not, after PULSE_TIMEOUT_S."""
        asking = asyncio.ensure_future(self._asked())
        try:
            await asyncio.wait({asking}, timeout=PULSE_TIMEOUT_S)
        finally:
            self._give_up(asking)
        try:
            asking.result()
        except (psycopg.Error, asyncio.InvalidStateError) as error:
            raise StoreUnavailable(f"the database gave no answer in {PULSE_TIMEOUT_S:g} s") from error

    async def aclose(self) -> None:
        """Close the connection. It is opened again by the next question."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _asked(self) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(conninfo(self._url), autocommit=True)
        await self._connection.execute("select 1")

    def _give_up(self, asking: asyncio.Future[None]) -> None:
        """Break the connection of a question that has no answer.

        A cancel alone would not do: psycopg then asks the server to cancel, and waits for up to 10 s.
        """
        if asking.done():
            return
        connection, self._connection = self._connection, None
        if connection is None:
            asking.cancel()
        else:
            with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)
        asking.add_done_callback(_look_at)


def _look_at(asking: asyncio.Future[None]) -> None:
    if not asking.cancelled():
        asking.exception()
