"""What must go on for as long as the process lives, whatever ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Never

from inquest.telemetry import log

FIRST_BACKOFF_S = 0.2
MAX_BACKOFF_S = 5.0
STEADY_S = 30.0
"""Something that went on for this long starts again without the waits of its earlier ends."""


async def keep_going(name: str, serve: Callable[[], Awaitable[None]]) -> Never:
    """Call `serve` again whenever it returns or raises, after 0.2 to 5 s, until cancelled.

    When cancelled it cancels `serve` and waits for its end, which may take as long as a drain.
    """
    backoff_s = FIRST_BACKOFF_S
    while True:
        began = time.monotonic()
        serving = asyncio.ensure_future(serve())
        try:
            await asyncio.wait({serving})
        except asyncio.CancelledError:
            serving.cancel()
            await asyncio.wait({serving})
            _look_at(serving)
            raise
        if time.monotonic() - began >= STEADY_S:
            backoff_s = FIRST_BACKOFF_S
        log().warning("started_again", what=name, error=_look_at(serving), after_s=backoff_s)
        await asyncio.sleep(backoff_s)
        backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)


def _look_at(ended: asyncio.Future[Any]) -> str | None:
    """Give the name of the exception that ended it, None for a return; asyncio then counts it as seen."""
    error = None if ended.cancelled() else ended.exception()
    return None if error is None else type(error).__name__


class Running:
    """The tasks of one worker that outlive whoever asked for them, until a drain."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` in a task of its own. A caller that is cancelled leaves it running."""
        task = asyncio.ensure_future(_awaited(work))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        await asyncio.shield(task)

    async def drain(self, grace_s: float) -> None:
        """Give what runs `grace_s` to end, then cancel it and wait for that."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=grace_s)
        cut = tuple(self._tasks)
        for task in cut:
            task.cancel()
        if cut:
            await asyncio.wait(cut)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        _look_at(task)


async def _awaited(work: Callable[[], Awaitable[None]]) -> None:
    await work()
