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
