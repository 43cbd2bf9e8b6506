"""Killed after, or just before, every commit and taken over: the same end, and nothing recorded is bought twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest

from inquest.domain.budget import Spend
from inquest.domain.effect import EffectState
from inquest.domain.event import BatchJoined, StageCommitted
from inquest.domain.investigation import EvidenceGathered
from inquest.domain.observation import Query
from inquest.domain.planned import ByReceipt
from inquest.models.scripted import in_order
from inquest.stages.fold import fold
from inquest.stages.gather_evidence.rebuild import load
from inquest.stages.gather_evidence.stage import bind
from inquest.stages.gather_evidence.state import LoopState
from tests.loop_deaths import (
    SCRIPT,
    Dying,
    bought_too_often,
    dying_instead,
    new_host,
    run_and_die,
    whole_run,
    writes_of_a_whole_run,
)
from tests.loop_host import Host, call, calls, judged, reply, tool

ASKED = ["up", "down", "left", "right"]


async def test_the_uninterrupted_run_is_what_the_others_are_compared_with() -> None:
    gathered, projected, host = await whole_run()

    assert (gathered.stop_reason, gathered.turns) == ("concluded", 6)
    assert all(entry.judgement != "open" or entry.reason for entry in projected.ledger.entries)
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


async def test_what_the_loop_leaves_is_what_its_journal_folds_to() -> None:
    host = new_host()
    acts = await host.acts(await host.start())
    state, left = fold(event.body for event in acts.chronicle.events), list[LoopState]()
    assert state is not None

    update = await bind(host.kit(SCRIPT), acts, leave=left.append)(state)
    assert isinstance(update, EvidenceGathered)
    await acts.append(StageCommitted(update=update))

    assert left == [await load(acts)]
