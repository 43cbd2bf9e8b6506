import asyncio
import threading

import pytest

from inquest.wire.apart import WORKED_AT_ONCE, apart


async def test_the_loop_ticks_while_answers_are_worked_on() -> None:
    ticked = threading.Event()
    work = asyncio.gather(*(apart(ticked.wait) for _ in range(WORKED_AT_ONCE)))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not work.done()
    ticked.set()
    assert await work == [True] * WORKED_AT_ONCE


async def test_no_more_than_a_few_answers_are_worked_on_at_once() -> None:
    release = threading.Event()
    work = [asyncio.ensure_future(apart(release.wait)) for _ in range(WORKED_AT_ONCE + 3)]
    await asyncio.sleep(0)  # each is handed over, and a pool that has room begins a thread for it there and then
    workers = [one for one in threading.enumerate() if one.name.startswith("inquest-answer")]
    release.set()
    await asyncio.gather(*work)
    assert len(workers) == WORKED_AT_ONCE


async def test_what_is_cancelled_before_its_turn_is_never_begun() -> None:
    release, begun = threading.Event(), list[int]()
    first = [asyncio.ensure_future(apart(release.wait)) for _ in range(WORKED_AT_ONCE)]
    late = asyncio.ensure_future(apart(begun.append, 1))
    await asyncio.sleep(0)
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late
    release.set()
    await asyncio.gather(*first, apart(lambda: None))
    assert begun == []
