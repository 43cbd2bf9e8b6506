"""The one door: reserve, act, record; nothing twice, and nothing without the fence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from inquest.domain.budget import Limits
from inquest.domain.effect import EffectKind, EffectState
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Ok, Query
from inquest.domain.transcript import Reply
from inquest.errors import FenceLost
from inquest.models.scripted import in_order
from inquest.ports import Journal, LoopView, ModelFailure
from inquest.runtime.effects import ClaimedActs
from inquest.runtime.terms import Terms
from inquest.stages.tools import bound_tools
from inquest.store.memory import MemoryJournal
from inquest.telemetry import create_metrics
from tests.builders import matrix, series
from tests.loop_host import CONTEXT, INVESTIGATION, Host, call, calls, judged, reply, tool
from tests.runtime.acts import REQUEST, ask, code_of, failing, host_with, row, seed_query, seed_run

# ---- once ------------------------------------------------------------------------------------------------


async def test_a_reservation_is_committed_before_the_call_is_sent() -> None:
    seen: list[EffectState] = []
    host = host_with(lambda _: Ok(observations=()))

    async def look(_: Query) -> None:
        seen.append((await row(host, "seed/1")).state)

    host.tools[0].hold = look
    await seed_run(host)

    assert seen == [EffectState.RESERVED]
    assert (await row(host, "seed/1")).state is EffectState.COMMITTED


async def test_a_committed_query_answers_from_its_receipt() -> None:
    host = host_with(lambda _: matrix(series([1.0])))
    outcome, acts = await seed_run(host)

    again = await acts.query("seed/1", seed_query(host))
    later = await (await host.acts(await host.claim())).query("seed/1", seed_query(host))

    assert (again.outcome, again.repeated, later.outcome, later.repeated) == (outcome, True, outcome, True)
    assert host.executions == 1


async def test_a_committed_turn_answers_from_its_receipt() -> None:
    host = Host([tool("metrics_query")])
    acts = await host.acts(await host.start())
    await acts.keep(await acts.model("diagnose/1", REQUEST, lambda _: ask(), timeout_s=10))

    async def never(_: float) -> Reply:
        raise AssertionError

    mine = await acts.model("diagnose/1", REQUEST, never, timeout_s=10)
    later = await (await host.acts(await host.claim())).model("diagnose/1", REQUEST, never, timeout_s=10)

    for answered in (mine, later):
        assert (answered.outcome, answered.fresh, answered.contents) == (reply("It broke."), False, {})


async def test_a_call_that_is_cut_keeps_its_reservation_and_gets_no_outcome() -> None:
    host = host_with(lambda _: Ok(observations=()))
    begun = asyncio.Event()

    async def hang(_: Query) -> None:
        begun.set()
        await asyncio.Event().wait()

    host.tools[0].hold = hang
    task = asyncio.create_task(seed_run(host))
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    cut = await row(host, "seed/1")
    assert (cut.state, cut.outcome_digest) == (EffectState.RESERVED, None)


# ---- the fence -------------------------------------------------------------------------------------------


async def test_nothing_is_sent_once_the_lease_has_run_out_by_the_monotonic_clock() -> None:
    host = host_with(lambda _: Ok(observations=()))
    acts = await host.acts(await host.start())
    host.lease_lives = False

    with pytest.raises(FenceLost):
        await acts.query("seed/1", seed_query(host))
    with pytest.raises(FenceLost):
        await acts.model("diagnose/1", REQUEST, lambda _: ask(), timeout_s=10)
    assert host.executions == 0


async def test_no_further_attempt_is_sent_once_the_lease_has_run_out() -> None:
    host = host_with(failing(FailureCode.PROVIDER_ERROR, times=9))

    async def lapse(_: Query) -> None:
        host.lease_lives = False

    host.tools[0].hold = lapse
    with pytest.raises(FenceLost):
        await seed_run(host)
    assert host.executions == 1


async def test_an_outcome_that_comes_after_a_take_over_is_refused_and_counted() -> None:
    host = host_with(lambda _: Ok(observations=()))
    fence = await host.start()
    metrics = create_metrics()
    terms = host.terms(fence)
    journal = host.memory
    late = ClaimedActs(
        await host.chronicle(),
        Terms(fence=fence, clock=terms.clock, tools=terms.tools, may_act=lambda: True, metrics=metrics),
        journal,
        journal,
    )

    async def take_over(_: Query) -> None:
        host.tools[0].hold = None
        await host.claim()

    host.tools[0].hold = take_over
    with pytest.raises(FenceLost):
        await late.query("seed/1", seed_query(host))

    assert (await row(host, "seed/1")).state is EffectState.RESERVED
    assert metrics.registry.get_sample_value("inquest_late_outcomes_total") == 1


async def die_in_the_act(host: Host, times: int) -> None:
    """Let `times` owners reserve seed/1, send it, and die."""
    for number in range(times):
        acts = await host.acts(await (host.start() if number == 0 else host.claim()))
        begun = asyncio.Event()

        async def hang(_: Query, begun: asyncio.Event = begun) -> None:
            begun.set()
            await asyncio.Event().wait()

        host.tools[0].hold = hang
        task = asyncio.create_task(acts.query("seed/1", seed_query(host)))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    host.tools[0].hold = None


async def test_what_three_owners_sent_without_an_outcome_is_closed_and_not_sent_again() -> None:
    host = host_with(lambda _: Ok(observations=()))
    await die_in_the_act(host, 3)

    reading = await (await host.acts(await host.claim())).query("seed/1", seed_query(host))

    assert code_of(reading.outcome) is FailureCode.PROVIDER_ERROR
    assert host.executions == 3
    assert (await row(host, "seed/1")).state is EffectState.COMMITTED


async def test_a_turn_that_three_owners_asked_ends_degraded() -> None:
    host = Host([tool("metrics_query")])
    for number in range(3):
        acts = await host.acts(await (host.start() if number == 0 else host.claim()))
        asked = asyncio.Event()

        async def hang(_: float, asked: asyncio.Event = asked) -> Reply:
            asked.set()
            await asyncio.Event().wait()
            return reply("never")

        task = asyncio.create_task(acts.model("turn/1", REQUEST, hang, timeout_s=99))
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    answered = await (await host.acts(await host.claim())).model("turn/1", REQUEST, lambda _: ask(), timeout_s=10)

    assert getattr(answered.outcome, "kind", None) == ModelFailure.UNAVAILABLE
    assert (await row(host, "turn/1")).dispatches == 3


async def test_a_request_that_changed_with_a_release_is_abandoned_and_taken_again_at_its_place() -> None:
    host = host_with(lambda query: matrix(series([1.0], metric=query.expression)))
    await die_in_the_act(host, 1)
    host.connector.context = CONTEXT.model_copy(update={"audience": "another"})

    await host.gather(in_order([calls(*judged("h1")), reply("It broke.")]), await host.claim())

    state = await host.state()
    assert (await row(host, "seed/1")).state is EffectState.ABANDONED
    assert state.answers[0].key == "seed/1/try/2"
    assert state.evidence[0].effect_key == "seed/1/try/2"
    assert state.spend.connector_effects == 2


async def test_a_take_over_past_the_ceiling_closes_the_call_as_an_outcome() -> None:
    host = host_with(lambda _: Ok(observations=()), max_connector_effects=1)
    await die_in_the_act(host, 1)

    reading = await (await host.acts(await host.claim())).query("seed/1", seed_query(host))

    assert code_of(reading.outcome) is FailureCode.BUDGET_EXHAUSTED
    assert host.executions == 1


async def test_a_tool_that_is_gone_is_an_outcome() -> None:
    host = host_with(lambda _: Ok(observations=()))
    fence = await host.start()
    host.connector.tools = []

    reading = await (await host.acts(fence)).query("seed/1", seed_query(host))

    assert code_of(reading.outcome) is FailureCode.CAPABILITY_DENIED


class LateSecondRead:
    """A journal whose second read of contents ends only when it is let go."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self._reads = 0
        self.let_go = asyncio.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)

    async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        self._reads += 1
        await (asyncio.sleep(0) if self._reads == 1 else self.let_go.wait())
        return await self._journal.content(digests)


async def test_tries_that_were_granted_are_not_forgotten_while_another_call_counts_those_of_earlier_owners() -> None:
    """One seed sent and tried again by the first owner, two sent by both: of seven effects, one more try is left."""
    host = Host(
        [tool("metrics_query", failing(FailureCode.PROVIDER_ERROR, times=1))],
        seeds=("a", "b", "c"),
        limits=Limits(max_connector_effects=7),
    )
    first = await host.acts(await host.start())
    seeds = [seed.query for seed in host._plan().seeds]
    await first.query("seed/1", seeds[0])
    assert host.executions == 2
    host.tools = (tool("metrics_query", failing(FailureCode.PROVIDER_ERROR, times=9)),)
    host.connector.tools = host.tools
    fence = await host.claim()
    journal = LateSecondRead(host.memory)
    second = ClaimedActs(await host.chronicle(), host.terms(fence), cast("Journal", journal), host.memory)

    asked = [asyncio.create_task(second.query(f"seed/{n}", seeds[n - 1])) for n in (2, 3)]
    await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    journal.let_go.set()
    await asyncio.gather(*asked)

    assert host.executions == 3


# ---- draining --------------------------------------------------------------------------------------------


async def test_a_drain_lets_what_was_sent_end_and_be_recorded_and_sends_nothing_more() -> None:
    host = Host([tool("metrics_query")], seeds=("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"))
    fence = await host.start()

    eight_begun = asyncio.Event()
    ended: list[int] = []

    async def hold(_: Query) -> None:
        if host.executions == 8:
            host.lease_lives = False
            eight_begun.set()
        await eight_begun.wait()
        if len(ended) > 0:  # the first one to end lets the ninth in, which is refused; the others still run
            for _round in range(50):
                await asyncio.sleep(0)
        ended.append(1)

    host.tools[0].hold = hold
    with pytest.raises(FenceLost):
        await host.gather(in_order([reply("")]), fence)

    states = [(await row(host, f"seed/{n}")).state for n in range(1, 11)]
    assert states == [EffectState.COMMITTED] * 8 + [EffectState.RESERVED] * 2
    assert host.executions == 8


async def test_a_turn_that_was_asked_before_a_drain_is_committed_with_its_batch() -> None:
    host = Host([tool("metrics_query")])

    def drain_now(_: LoopView) -> Reply:
        host.lease_lives = False
        return calls(call("metrics_query", expression="up"))

    with pytest.raises(FenceLost):
        await host.gather(drain_now)

    assert ((await row(host, "turn/1")).state, (await row(host, "turn/1/call/1")).state) == ("committed", "reserved")
    assert host.executions == 0


async def test_a_name_that_two_connectors_offer_is_refused_at_start() -> None:
    host = Host([tool("metrics_query")])
    with pytest.raises(Exception, match="two of them offer the tool metrics_query"):
        bound_tools([host.connector, host.connector])


async def test_dispatches_are_what_the_store_counts() -> None:
    host = host_with(lambda _: Ok(observations=()))
    await die_in_the_act(host, 2)

    await (await host.acts(await host.claim())).query("seed/1", seed_query(host))

    assert host.memory.dispatches(INVESTIGATION, EffectKind.QUERY) == 3 == host.executions
