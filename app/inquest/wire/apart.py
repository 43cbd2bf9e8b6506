"""Work on answers, beside the event loop and few at a time.

A large answer costs seconds of CPU to parse, normalise and digest, and much of that is single calls into C that
keep the interpreter to themselves. Eight of them at once would starve the loop, by whose ticks a worker's lease
lives, and all be late together; two at a time end one after the other.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

WORKED_AT_ONCE = 2

P = ParamSpec("P")
T = TypeVar("T")

_workers = ThreadPoolExecutor(max_workers=WORKED_AT_ONCE, thread_name_prefix="inquest-answer")


async def apart(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do `work` in one of WORKED_AT_ONCE threads of this process. What is cancelled before its turn is never begun."""
    call = partial(contextvars.copy_context().run, partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_workers, call)
