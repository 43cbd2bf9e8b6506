"""Killed after, or just before, every commit and taken over: the same end, and nothing recorded is bought twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import pytest

from inquest.domain.budget import Spend
from inquest.domain.effect import EffectState, Receipt, Reservation
from inquest.domain.event import BatchJoined, ByReceipt, Dispatch
from inquest.domain.fence import Fence
from inquest.domain.investigation import Gathered
from inquest.domain.observation import Query
from inquest.domain.projection import Projection
from inquest.models.scripted import in_order
from inquest.ports import Chronicle, ReserveAnswer, Write
from inquest.store.memory import MemoryJournal
from tests.loop_host import Host, call, calls, judged, reply, tool

T = TypeVar("T")
LINES = [
    calls(call("metrics_query", "a", expression="up"), call("logs_query", "b", expression="err"), content="Looking."),
    calls(call("metrics_query", "c", expression="up"), call("search_tools", "d", query="changes_query")),
    reply("Too early."),
    calls(
        call("changes_query", "e", expression="deploys"),
        call("open_hypothesis", "f", text="A deploy did it.", refuted_by="no deploy"),
        call("metrics_query", "g", expression="up", cursor="page-2"),
        call("no_such_tool", "h"),
    ),
    calls(*judged("h1", "h2"), call("read_evidence", "i", id="E1", grep="up")),
    reply("The deployment broke it."),
]
SCRIPT = in_order(LINES)
ASKED = ["up", "down", "left", "right"]


class Dying:
    """A journal whose owner dies around its `dies_at`-th write: the write happened (after) or not (before)."""

    def __init__(self, memory: MemoryJournal, dies_at: int, *, before: bool) -> None:
        self._memory = memory
        self._dies_at = dies_at
        self._before = before
        self.writes = 0
        self.dead = asyncio.Event()

    async def _around(self, write: Callable[[], Awaitable[T]]) -> T:
        self.writes += 1
        dies = self.writes == self._dies_at
        if self.dead.is_set() or (dies and self._before):
            await self._die()
        result = await write()
        if dies:
            await self._die()
        return result

    async def _die(self) -> None:
        self.dead.set()
        await asyncio.Event().wait()

    async def load(self, investigation_id: str) -> Chronicle:
        return await self._memory.load(investigation_id)

    async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        return await self._memory.content(digests)

    async def commit(self, write: Write) -> int:
        return await self._around(lambda: self._memory.commit(write))

    async def reserve(self, fence: Fence, expected_version: int, reservation: Reservation) -> ReserveAnswer:
        return await self._around(lambda: self._memory.reserve(fence, expected_version, reservation))

    async def receive(self, fence: Fence, receipt: Receipt, contents: Mapping[str, bytes]) -> None:
        return await self._around(lambda: self._memory.receive(fence, receipt, contents))


def dying_instead(dying: Dying) -> Callable[[MemoryJournal], Dying]:
    return lambda _: dying


def new_host() -> Host:
    tools = [
        tool("metrics_query"),
        tool("logs_query", signal="logs"),
        tool("changes_query", signal="changes"),
        *(tool(f"other{n}_query", signal="names") for n in range(30)),
    ]
    tools[0].spec.parameters["properties"]["cursor"] = {"type": "string"}  # type: ignore[index,call-overload]
    return Host(tools, signals=("metrics", "logs", "changes"), seeds=("errors", "latency"))


async def whole_run() -> tuple[Gathered, Projection, Host]:
    host = new_host()
    gathered = await host.gather(SCRIPT)
    return gathered, await host.projected(), host


async def run_and_die(host: Host, dies_at: int, *, before: bool) -> Dying | None:
    """Run until the owner dies; None when it ended before."""
    fence = await host.start()
    dying = Dying(host.memory, dies_at, before=before)
    host.wrap = dying_instead(dying)
    task = asyncio.create_task(host.gather(SCRIPT, fence))
    death = asyncio.create_task(dying.dead.wait())
    done, _ = await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
    for one in (task, death):
        one.cancel()
    await asyncio.gather(task, death, return_exceptions=True)
    host.wrap = lambda memory: memory
    return None if task in done else dying


async def bought_too_often(host: Host) -> list[str]:
    """Name the keys that were acted on more often than their rows say; a row counts one and each re-dispatch."""
    state, chronicle = await host.state(), await host.chronicle()
    dispatches = {row.key: row.dispatches for row in chronicle.effects}
    plans = [one.plan for turn in state.turns for one in turn.calls if isinstance(one.plan, Dispatch)]
    queries = {plan.key: plan.query for plan in plans} | {seed.key: seed.query for seed in state.plan.seeds}
    ran = Counter(query.canonical_digest() for one in host.tools for query in one.ran)
    asked = Counter(f"turn/{view.turn}" for view in host.views)
    often = {key: ran[query.canonical_digest()] for key, query in queries.items()} | dict(asked)
    return [key for key, times in often.items() if times > dispatches[key]]


async def writes_of_a_whole_run() -> int:
    host = new_host()
    fence = await host.start()
    dying = Dying(host.memory, -1, before=False)
    host.wrap = dying_instead(dying)
    await host.gather(SCRIPT, fence)
    return dying.writes


async def test_the_uninterrupted_run_is_what_the_others_are_compared_with() -> None:
    gathered, projected, host = await whole_run()

    assert (gathered.stop_reason, gathered.turns) == ("concluded", 6)
    assert projected.ledger.is_settled
    assert host.executions == 6
    assert await writes_of_a_whole_run() > 25


@pytest.mark.parametrize("before", [False, True], ids=["after the write", "before the write"])
async def test_killed_at_every_write_it_comes_to_the_same_end(before: bool) -> None:
    gathered, projected, _ = await whole_run()
    for dies_at in range(1, await writes_of_a_whole_run() + 1):
        host = new_host()
        died = await run_and_die(host, dies_at, before=before)
        assert died is not None, dies_at
        committed = {row.key for row in (await host.chronicle()).effects if row.state is EffectState.COMMITTED}

        again = await host.gather(SCRIPT, await host.claim())

        assert again == gathered, dies_at
        assert (await host.projected()).but(spend=Spend()) == projected.but(spend=Spend()), dies_at
        assert await bought_too_often(host) == [], dies_at
        rows = (await host.chronicle()).effects
        assert [row.key for row in rows if row.key in committed and row.dispatches > 1] == [], dies_at


async def test_killed_at_two_writes_it_comes_to_the_same_end() -> None:
    gathered, projected, _ = await whole_run()
    for dies_at in range(2, await writes_of_a_whole_run() - 4, 3):
        host = new_host()
        await run_and_die(host, dies_at, before=False)
        dying = Dying(host.memory, 3, before=True)
        host.wrap = dying_instead(dying)
        task = asyncio.create_task(host.gather(SCRIPT, await host.claim()))
        await asyncio.wait_for(dying.dead.wait(), 5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        host.wrap = lambda memory: memory

        assert await host.gather(SCRIPT, await host.claim()) == gathered, dies_at
        assert (await host.projected()).but(spend=Spend()) == projected.but(spend=Spend()), dies_at


async def test_after_the_turn_is_committed_the_model_is_not_asked_again() -> None:
    host = new_host()
    fence = await host.start()
    begun = asyncio.Event()

    async def hang(_: Query) -> None:
        begun.set()
        await asyncio.Event().wait()

    host.tools[1].hold = hang
    task = asyncio.create_task(host.gather(SCRIPT, fence))
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    host.tools[1].hold = None

    await host.gather(SCRIPT, await host.claim())

    assert [view.turn for view in host.views] == [1, 2, 3, 4, 5, 6]
    cut = next(row for row in (await host.chronicle()).effects if row.key == "turn/1/call/2")
    assert (cut.state, cut.dispatches) == (EffectState.COMMITTED, 2)


async def test_finish_order_reversed_gives_the_same_events() -> None:
    async def run(order: Callable[[list[asyncio.Event]], list[asyncio.Event]]) -> tuple[list[bytes], list[str]]:
        """Let all calls of a batch begin, then end in `order`; give the joins and the order of the ends."""
        host = Host([tool("metrics_query")])
        begun: list[asyncio.Event] = []
        ended: list[str] = []

        async def hold(query: Query) -> None:
            mine = asyncio.Event()
            begun.append(mine)
            if len(begun) == len(ASKED):
                turns = order(begun)
                turns[0].set()
                following.update(dict(pairwise(turns)))
            await mine.wait()
            ended.append(query.expression)
            if mine in following:
                following[mine].set()

        following: dict[asyncio.Event, asyncio.Event] = {}
        host.tools[0].hold = hold
        asked = calls(*(call("metrics_query", expression=name) for name in ASKED))
        await host.gather(in_order([asked, calls(*judged("h1")), reply("It broke.")]))
        joins = await host.bodies(BatchJoined)
        keys = [joined.key for joined in joins[0].results if isinstance(joined, ByReceipt)]
        assert keys == [f"turn/1/call/{n}" for n in range(1, 5)]
        return [event.canonical() for event in joins], ended

    first, forwards = await run(list)
    second, backwards = await run(lambda begun: begun[::-1])

    assert (forwards, backwards) == (ASKED, ASKED[::-1])
    assert first == second
