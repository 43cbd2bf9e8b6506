"""Who waits long asks whether the store answers at all; nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from inquest.errors import StoreUnavailable
from inquest.runtime import presence as subject
from inquest.runtime.presence import Presence
from tests.waiting import until


class Store:
    """Answers the question while it is there, and counts it."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_there = True
        self.answering = asyncio.Event()
        self.answering.set()

    async def answers(self) -> None:
        self.asked += 1
        await self.answering.wait()
        if not self.is_there:
            raise StoreUnavailable("gone")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "DOUBT_S", 0.01)


def waiting_for(what: Callable[[], Awaitable[object]]) -> asyncio.Task[object]:
    async def work() -> object:
        return await what()

    return asyncio.create_task(work())


async def test_what_is_done_soon_asks_nothing() -> None:
    store = Store()
    presence = Presence(store.answers)
    await presence.expected()

    done = asyncio.Event()
    done.set()
    assert await presence.during(waiting_for(done.wait), 20) is True
    assert store.asked == 0


async def test_what_takes_long_is_waited_for_while_the_store_answers() -> None:
    store, done = Store(), asyncio.Event()
    waiting = asyncio.create_task(Presence(store.answers).during(waiting_for(done.wait), 20))
    await until(lambda: store.asked > 2)
    done.set()

    assert await waiting is True


async def test_a_store_that_stops_answering_ends_the_wait_and_not_the_work() -> None:
    store, done = Store(), asyncio.Event()
    store.is_there = False
    work = waiting_for(done.wait)
    with pytest.raises(StoreUnavailable, match="gone"):
        await Presence(store.answers).during(work, 20)

    assert not work.done()
    done.set()
    assert await work is True


async def test_what_is_done_while_it_is_asked_is_done() -> None:
    store, done = Store(), asyncio.Event()
    store.answering.clear()
    waiting = asyncio.create_task(Presence(store.answers).during(waiting_for(done.wait), 20))
    await until(lambda: store.asked)
    done.set()

    assert await waiting is True
    store.answering.set()


async def test_time_ends_the_wait_though_the_store_answers() -> None:
    never = asyncio.Event()
    work = waiting_for(never.wait)
    with pytest.raises(StoreUnavailable, match="within"):
        await Presence(Store().answers).during(work, 0.05)
    work.cancel()


async def test_after_silence_nothing_is_begun_before_an_answer() -> None:
    store, never = Store(), asyncio.Event()
    presence = Presence(store.answers)
    store.is_there = False
    work = waiting_for(never.wait)
    with pytest.raises(StoreUnavailable):
        await presence.during(work, 20)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await presence.expected()
    assert store.asked == 3

    store.is_there = True
    await presence.expected()
    await presence.expected()
    assert store.asked == 4
    work.cancel()


async def test_all_who_wait_ask_one_question_and_one_who_leaves_takes_it_from_nobody() -> None:
    store, never = Store(), asyncio.Event()
    store.answering.clear()
    presence, work = Presence(store.answers), waiting_for(never.wait)
    waiting = [asyncio.create_task(presence.during(work, 20)) for _ in range(20)]
    await until(lambda: store.asked)
    waiting[0].cancel()
    store.is_there = False
    store.answering.set()
    ends = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(end) for end in ends] == [asyncio.CancelledError, *[StoreUnavailable] * 19]
    assert store.asked == 1
    work.cancel()
