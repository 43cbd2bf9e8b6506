"""Waiting for a condition, with a deadline: how tests wait for other processes and tasks."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
PATIENCE_S = 20.0
"""Far beyond what is needed: it bounds a failing test, and is no claim about speed."""
LOOK_EVERY_S = 0.02


@overload
async def until(look: Callable[[], Awaitable[T]], *, patience_s: float = PATIENCE_S) -> T: ...


@overload
async def until(look: Callable[[], T], *, patience_s: float = PATIENCE_S) -> T: ...


async def until(look: Callable[[], Any], *, patience_s: float = PATIENCE_S) -> Any:
    """Give the first true answer of `look`. Raises AssertionError with its last answer when time is up."""
    ends = time.monotonic() + patience_s
    while True:
        answer = look()
        found = await answer if inspect.isawaitable(answer) else answer
        if found:
            return found
        if time.monotonic() >= ends:
            raise AssertionError(f"still {found!r} after {patience_s} s: {inspect.getsource(look).strip()}")
        await asyncio.sleep(LOOK_EVERY_S)


def wait_until(look: Callable[[], T], what: str | Callable[[], str], *, patience_s: float = PATIENCE_S) -> T:
    """Give the first true answer of `look`, in a test without an event loop; `what` says for what it waits.

    Raises AssertionError when time is up; a callable `what` is asked only then.
    """
    ends = time.monotonic() + patience_s
    while not (found := look()):
        if time.monotonic() >= ends:
            raise AssertionError(f"gave up after {patience_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(LOOK_EVERY_S)  # the one place where a test without a loop looks again
    return found
