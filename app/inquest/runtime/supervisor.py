"""What must go on for as long as the process lives, whatever ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Never

from inquest.telemetry import log

FIRST_BACKOFF_S = 0.2
MAX_BACKOFF_S = 5.0
CANCEL_AGAIN_S = 0.5
ABANDON_AFTER_S = 2.0
STEADY_S = 30.0
"""Something that went on for this long starts again without the waits of its earlier ends."""


async def keep_going(name: str, serve: Callable[[], Awaitable[None]]) -> Never:
    """Call `serve` again whenever it returns or raises, after 0.2 to 5 s, until cancelled.

    When cancelled it cancels `serve` and waits for its end, which may take as long as a drain; cancelled again
    meanwhile, it cancels `serve` again and waits on.
    """
    backoff_s = FIRST_BACKOFF_S
    while True:
        began = time.monotonic()
        serving = asyncio.ensure_future(serve())
        try:
            await asyncio.wait({serving})
        except asyncio.CancelledError:
            await _cancel_and_wait(serving)
            raise
        if time.monotonic() - began >= STEADY_S:
            backoff_s = FIRST_BACKOFF_S
        log().warning("started_again", what=name, error=_look_at(serving), after_s=backoff_s)
        await asyncio.sleep(backoff_s)
        backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)


async def _cancel_and_wait(serving: asyncio.Future[Any]) -> None:
    """Cancel `serving` and wait for its end; whoever cancels this wait cancels `serving` again."""
    serving.cancel()
    while not serving.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({serving})
            break
        serving.cancel()
    _look_at(serving)


async def cancel_for_good(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel `tasks` until they have ended, ABANDON_AFTER_S at most; what is left then is left alone.

    One cancellation is not enough for what waits, on its way out, for a database that does not answer: psycopg then
    waits for up to 10 s, and Procrastinate for a connection.
    """
    left = {task for task in tasks if not task.done()}
    gives_up_at = time.monotonic() + ABANDON_AFTER_S
    while left and time.monotonic() < gives_up_at:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_S)
    if left:
        log().warning("tasks_abandoned", count=len(left))


async def end_every_task() -> None:
    """End every other task of this event loop, as the last thing that a process does in it.

    asyncio.run would cancel each of them once and wait for it without a limit.
    """
    await cancel_for_good(asyncio.all_tasks() - {asyncio.current_task()})


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
        self._keep(task)
        await asyncio.shield(task)

    def begin(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin `work` in a task of its own, for nobody who waits for it."""
        self._keep(asyncio.ensure_future(_awaited(work)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def drain(self, grace_s: float, *, cut_s: float) -> None:
        """Give what runs `grace_s` to end, then cancel it; give that `cut_s`, then cancel it for good."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=grace_s)
        cut = tuple(self._tasks)
        for task in cut:
            task.cancel()
        if cut:
            await asyncio.wait(cut, timeout=cut_s)
        await cancel_for_good(cut)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        _look_at(task)


async def _awaited(work: Callable[[], Awaitable[None]]) -> None:
    await work()
