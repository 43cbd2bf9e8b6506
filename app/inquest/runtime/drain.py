"""Draining a claim: nothing more is sent, and what was sent may end and be recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Drain:
    """Counts what is on its way, and what came back and is not recorded yet."""

    def __init__(self) -> None:
        self._running = 0
        self._unsaved: set[str] = set()
        self._idle = asyncio.Event()
        self._open = asyncio.Event()
        self._idle.set()
        self._open.set()

    def close(self) -> None:
        """Let nothing more pass `gate`."""
        self._open.clear()

    async def gate(self) -> None:
        """Pass at once; once closed, wait until cancelled."""
        await self._open.wait()

    async def idle(self) -> None:
        """Wait until nothing is on its way and all that came back is recorded."""
        await self._idle.wait()

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Count one act while it is on its way."""
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            self._show()

    def came_back(self, key: str) -> None:
        """Count the answer under `key` as not recorded yet."""
        self._unsaved.add(key)

    def saved(self, key: str) -> None:
        """Say that the answer under `key` is recorded."""
        self._unsaved.discard(key)
        self._show()

    def _show(self) -> None:
        if not self._running and not self._unsaved:
            self._idle.set()
