"""Waiting for other processes, looking less often than a test does: the matrix waits in many runs at once."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

PATIENCE_S = 60.0
"""Far beyond what one step of a run needs: it bounds a failing one."""
LOOK_EVERY_S = 0.1


class OutOfPatience(Exception):
    """Something did not come; the message names it."""


async def until_still(look: Callable[[], Awaitable[object | None]], what: str, *, patience_s: float) -> None:
    """Wait until `look` gives None, for as long as what it gives goes on changing.

    On a busy machine things take long; what has not changed for `patience_s` will not. Raises OutOfPatience.
    """
    before: object = None
    ends = time.monotonic() + patience_s
    while (found := await look()) is not None:
        if found != before:
            before, ends = found, time.monotonic() + patience_s
        if time.monotonic() >= ends:
            raise OutOfPatience(f"{what} did not come, and nothing has changed for {patience_s:g} s")
        await asyncio.sleep(LOOK_EVERY_S)


async def poll(look: Callable[[], bool | Awaitable[bool]], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Wait until `look` is true. Raises OutOfPatience naming `what` when time is up."""
    ends = time.monotonic() + patience_s
    while True:
        answer = look()
        if await answer if inspect.isawaitable(answer) else answer:
            return
        if time.monotonic() >= ends:
            raise OutOfPatience(f"{what} did not come in {patience_s:g} s")
        await asyncio.sleep(LOOK_EVERY_S)
