"""Whether the database is there, as those find out who wait for it: within a second, and only while they wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from inquest.errors import StoreUnavailable

DOUBT_S = 0.3
"""Who has waited for so long asks whether the database answers at all."""

T = TypeVar("T")


class Presence:
    """Tells a database that is away from work that takes long, for all callers of one process.

    Time alone cannot: a post of 20,000 alerts is seconds of work, and a Postgres that is frozen, or behind a proxy that
    says nothing, refuses nobody. So whoever waits long asks for something that is answered at once. One question at a
    time, whose answer everybody takes; after one without an answer nothing is begun before there is one.
    """

    def __init__(self, ask: Callable[[], Awaitable[None]]) -> None:
        """`ask` returns when the database answers, and raises StoreUnavailable when it does not, soon."""
        self._ask = ask
        self._asking: asyncio.Future[None] | None = None
        self._in_doubt = False

    async def expected(self) -> None:
        """Return at once while nothing speaks against it, else with the next answer. Raises StoreUnavailable."""
        if self._in_doubt:
            await asyncio.shield(self._question())

    async def during(self, work: asyncio.Future[T], timeout_s: float) -> T:
        """Give what `work` gives.

        Raises StoreUnavailable when the database stops answering, and after `timeout_s`; `work` goes on then.
        """
        ends = time.monotonic() + timeout_s
        while not work.done():
            left_s = ends - time.monotonic()
            if left_s <= 0:
                raise StoreUnavailable(f"it was not done within {timeout_s:g} s")
            await asyncio.wait({work}, timeout=min(DOUBT_S, left_s))
            if not work.done():
                question = self._question()
                either: set[asyncio.Future[Any]] = {work, question}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if not work.done():
                    question.result()
        return work.result()

    def _question(self) -> asyncio.Future[None]:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._asked())
            self._asking.add_done_callback(_look_at)
        return self._asking

    async def _asked(self) -> None:
        try:
            await self._ask()
        except StoreUnavailable:
            self._in_doubt = True
            raise
        self._in_doubt = False


def _look_at(asking: asyncio.Future[None]) -> None:
    """Look at how it ended: whoever asked may be gone."""
    if not asking.cancelled():
        asking.exception()
