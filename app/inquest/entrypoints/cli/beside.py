"""Waiting for something that another task brings about, and no longer than that one lives."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from inquest.errors import InvariantBroken

T = TypeVar("T")


async def beside(bringing: asyncio.Future[None], waiting: Coroutine[object, object, T]) -> T:
    """Give what `waiting` gives. Raises what ended `bringing` when that ends first, InvariantBroken for a return."""
    task = asyncio.ensure_future(waiting)
    both: set[asyncio.Future[Any]] = {task, bringing}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        bringing.result()
        msg = "what was to bring it about has ended"
        raise InvariantBroken(msg)
    finally:
        task.cancel()
