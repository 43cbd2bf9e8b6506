"""What a run refuses, and that nothing is sent or written then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import pytest
from typing_extensions import override

from inquest.domain.budget import Spend
from inquest.domain.effect import EffectState
from inquest.domain.event import InterruptRaised, RunCancelled, RunFailed
from inquest.domain.fence import Fence
from inquest.domain.hypothesis import Hypothesis
from inquest.domain.investigation import Facts, Identity, Plan, Status
from inquest.domain.window import Window
from inquest.errors import ConfigurationError, FenceLost, IdentityMismatch, NotFound, PlanMismatch, StoreUnavailable
from inquest.library import HostTerms
from inquest.ports import Write
from inquest.runtime.pipeline import begin
from inquest.store.memory import MemoryJournal
from tests.builders import NOW, T0, facts
from tests.library.library_runs import IDENTITY, NOBODY, LibraryRuns
from tests.loop_host import CONTEXT, INVESTIGATION
from tests.runtime.whole_runs import Spy

T = TypeVar("T")


async def fresh() -> tuple[LibraryRuns, Fence]:
    runs = LibraryRuns()
    return runs, await runs.start()


async def under_way() -> tuple[LibraryRuns, Fence]:
    """Give a run whose owner died in the middle of its loop, and the fence of the next one."""
    runs = LibraryRuns()
    assert await runs.run_and_die(11, before=False)
    return runs, await runs.claim()


async def ended() -> tuple[LibraryRuns, Fence]:
    runs = LibraryRuns()
    fence = await runs.start()
    await runs.investigate(fence)
    return runs, fence


STANDING = pytest.mark.parametrize("stands", [under_way, ended])
Stands = Callable[[], Awaitable[tuple[LibraryRuns, Fence]]]


async def refuses(runs: LibraryRuns, error: type[Exception], fence: Fence, **changes: object) -> str:
    """Check that the call is refused, and that it sent, asked and wrote nothing; give what was said."""
    before, executions, asked = await runs.chronicle(), runs.executions, len(runs.asked)
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy
    with pytest.raises(error) as refused:
        await runs.investigate(fence, **changes)
    assert (await runs.chronicle(), runs.executions) == (before, executions)
    assert [one.requests for one in runs.asked[asked:]] == [[]]
    return str(refused.value)


# ---- another identity (checklist 35)

OTHERS = [
    IDENTITY.but(workspace_id="rival"),
    IDENTITY.but(task_id="ep-2"),
    IDENTITY.but(session_id="somebody"),
    IDENTITY.but(workflow_id="investigate/9"),
]


@pytest.mark.parametrize("identity", OTHERS, ids=["workspace", "task", "session", "workflow"])
@STANDING
async def test_the_same_run_with_another_identity_is_refused(stands: Stands, identity: Identity) -> None:
    runs, fence = await stands()

    await refuses(runs, IdentityMismatch, fence, identity=identity)


@pytest.mark.parametrize("identity", OTHERS[1:], ids=["task", "session", "workflow"])
async def test_an_identity_that_the_run_was_not_opened_with_is_refused(identity: Identity) -> None:
    runs, fence = await fresh()

    await refuses(runs, IdentityMismatch, fence, identity=identity)


async def test_a_fence_of_another_run_is_refused() -> None:
    runs, fence = await fresh()

    await refuses(runs, IdentityMismatch, fence, identity=IDENTITY.but(run_id="inv-2"))
    await refuses(runs, IdentityMismatch, fence.but(investigation_id="inv-2"))


async def test_a_run_that_the_journal_does_not_have_is_refused() -> None:
    runs, fence = await fresh()

    with pytest.raises(NotFound):
        await runs.investigate(fence.but(investigation_id="inv-2"), identity=IDENTITY.but(run_id="inv-2"))


# ---- another plan, other facts (checklist 36)


def _h(name: str) -> Hypothesis:
    return Hypothesis(name=name, text="It was the weather", refuted_by="no weather")


PLANS: dict[str, Callable[[Plan], Plan]] = {
    "another objective": lambda plan: plan.but(objective="Find somebody to blame."),
    "another hypothesis": lambda plan: plan.but(hypotheses=(*plan.hypotheses[:-1], _h("h4"))),
    "fewer seeds": lambda plan: plan.but(seeds=plan.seeds[:-1]),
    "another seed": lambda plan: plan.but(
        seeds=(*plan.seeds[:-1], plan.seeds[-1].but(query=plan.seeds[-1].query.but(service_id="payments")))
    ),
    "other tools": lambda plan: plan.but(tools=plan.tools[:1]),
    "more turns": lambda plan: plan.but(budget=plan.budget.but(max_model_turns=19)),
    "more calls": lambda plan: plan.but(budget=plan.budget.but(max_connector_effects=59)),
    "a later deadline": lambda plan: plan.but(budget=plan.budget.but(deadline_at=NOW + timedelta(hours=1))),
}


@pytest.mark.parametrize("other", PLANS)
@STANDING
async def test_a_run_keeps_its_plan(stands: Stands, other: str) -> None:
    runs, fence = await stands()

    await refuses(runs, PlanMismatch, fence, plan=PLANS[other](runs.given_plan))


def _later(given: Facts) -> Facts:
    incident = given.window.incident
    return given.but(window=given.window.but(incident=incident.but(end=incident.end + timedelta(minutes=1))))


@pytest.mark.parametrize("other", [facts(service="payments"), facts(alert_source="datadog"), _later(facts())])
@STANDING
async def test_a_run_keeps_its_facts(stands: Stands, other: Facts) -> None:
    runs, fence = await stands()

    await refuses(runs, PlanMismatch, fence, facts=other)


async def test_an_investigation_that_a_worker_began_is_refused() -> None:
    runs, fence = await fresh()
    await begin(await runs.acts(fence), runs.run_kit(), runs.opened)

    said = await refuses(runs, PlanMismatch, fence)

    assert "worker" in said


# ---- a lost fence (checklist 54, 57)


async def test_an_owner_that_was_superseded_sends_nothing_not_even_what_it_reserved_itself() -> None:
    runs = LibraryRuns()
    fence = await runs.start()
    await runs.cut_after(1, fence)
    rows = (await runs.chronicle()).effects
    assert {row.state for row in rows} == {EffectState.RESERVED}  # by this very fence, and nobody has taken them over
    await runs.claim()

    await refuses(runs, FenceLost, fence)


async def test_an_owner_that_let_go_sends_nothing() -> None:
    runs = LibraryRuns()
    fence = await runs.start()
    await runs.cut_after(1, fence)
    await runs.memory.release(fence)

    await refuses(runs, FenceLost, fence)


async def test_a_fence_that_was_never_given_sends_nothing() -> None:
    runs, _ = await fresh()

    await refuses(runs, FenceLost, NOBODY)


async def test_an_owner_that_is_superseded_while_it_runs_stops() -> None:
    runs = LibraryRuns()
    fence = await runs.start()

    async def taken_over(_: object) -> None:
        runs.tools[0].hold = None
        await runs.claim()

    runs.tools[0].hold = taken_over

    with pytest.raises(FenceLost):
        await runs.investigate(fence)

    assert "batch_joined" not in await runs.kinds()
    assert runs.memory.status(INVESTIGATION) is Status.RUNNING


async def test_a_host_whose_right_to_act_has_run_out_sends_nothing() -> None:
    runs = LibraryRuns(lent=HostTerms(may_act=lambda: False))

    with pytest.raises(FenceLost):
        await runs.investigate(await runs.start())

    assert runs.executions == 0


# ---- a question that waits (checklist 70)


async def test_a_run_that_waits_for_an_answer_stays_paused_across_restarts() -> None:
    runs, fence = await under_way()
    raised = InterruptRaised(interrupt_id="int-1", prompt="who deployed?", call_key="turn/1/call/1", remaining_s=60.0)
    await runs.memory.commit(Write(fence=fence, expected_version=(await runs.chronicle()).version, events=(raised,)))
    assert runs.memory.status(INVESTIGATION) is Status.WAITING

    for _ in range(3):
        runs.clock.pass_(60)
        assert await runs.memory.claim("another") is None
        await refuses(runs, FenceLost, fence)


# ---- the end (checklist 71)


@pytest.mark.parametrize("by", ["analyst", "script", "model"])
async def test_an_ended_run_gives_the_same_projection_byte_for_byte_and_does_nothing(by: str) -> None:
    runs = LibraryRuns(by=by)
    fence = await runs.start()
    projection = await runs.investigate(fence)
    before, executions = await runs.chronicle(), runs.executions
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy

    for who in (fence, NOBODY, fence):
        assert (await runs.investigate(who)).canonical() == projection.canonical()

    assert (spy.writes, runs.executions) == (0, executions)
    assert await runs.chronicle() == before
    assert len(runs.model.requests) == len({one.canonical_digest() for one in runs.model.requests})


async def test_a_run_that_was_ended_as_failed_gives_what_it_had() -> None:
    runs, fence = await under_way()
    digest = (await runs.projected()).canonical_digest()
    failed = RunFailed(reason="given up", projection_digest=digest, signature=None, spend=Spend())
    await runs.memory.commit(Write(fence=fence, expected_version=(await runs.chronicle()).version, events=(failed,)))

    projection = await runs.investigate(fence)

    assert projection.canonical_digest() == digest
    assert projection.diagnosis is None


async def test_a_run_that_was_cancelled_before_it_began_came_to_nothing() -> None:
    runs, fence = await fresh()
    cancelled = RunCancelled(reason="operator", actor="somebody")
    await runs.memory.commit(Write(fence=fence, expected_version=0, events=(cancelled,)))

    projection = await runs.investigate(fence)

    assert (projection.identity, projection.plan, projection.evidence) == (IDENTITY, None, ())
    assert runs.executions == 0


# ---- a write whose answer got lost


class Forgetful(Spy):
    """A store that does its `nth` write and then says that it cannot be reached, once."""

    def __init__(self, memory: MemoryJournal, nth: int) -> None:
        super().__init__(memory)
        self._nth = nth

    @override
    async def _around(self, write: Callable[[], Awaitable[T]]) -> T:
        found = await super()._around(write)
        if self.writes == self._nth:
            raise StoreUnavailable("the answer got lost")
        return found


async def test_after_a_lost_answer_the_next_call_with_the_same_fence_comes_to_the_same_end() -> None:
    whole = LibraryRuns()
    spy = Spy(whole.memory)
    whole.wrap = lambda _: spy
    expected = (await whole.investigate(await whole.start())).but(spend=Spend())

    for nth in range(1, spy.writes + 1):
        runs = LibraryRuns()
        fence = await runs.start()
        forgetful = Forgetful(runs.memory, nth)
        runs.wrap = lambda _, forgetful=forgetful: forgetful  # type: ignore[misc]
        with pytest.raises(StoreUnavailable):
            await runs.investigate(fence)

        assert (await runs.investigate(fence)).but(spend=Spend()) == expected, nth


# ---- what cannot be run

BAD_PLANS: dict[str, tuple[Callable[[Plan], Plan], str]] = {
    "a deadline that has passed": (
        lambda plan: plan.but(budget=plan.budget.but(deadline_at=NOW)), "plan.budget.deadline_at"
    ),
    "a deadline in two hours": (
        lambda plan: plan.but(budget=plan.budget.but(deadline_at=NOW + timedelta(hours=2))), "plan.budget.deadline_at"
    ),
    "21 turns": (lambda plan: plan.but(budget=plan.budget.but(max_model_turns=21)), "plan.budget.max_model_turns"),
    "61 calls": (
        lambda plan: plan.but(budget=plan.budget.but(max_connector_effects=61)), "plan.budget.max_connector_effects"
    ),
    "fewer calls than seeds": (
        lambda plan: plan.but(budget=plan.budget.but(max_connector_effects=2)), "plan.seeds"
    ),
    "a seed out of order": (lambda plan: plan.but(seeds=plan.seeds[1:]), "the key seed/1, not 'seed/2'"),
    "a tool that nobody has": (
        lambda plan: plan.but(seeds=(plan.seeds[0].but(query=plan.seeds[0].query.but(tool="kubectl")),)), "kubectl"
    ),
    "a seed outside the window": (
        lambda plan: plan.but(
            seeds=(
                plan.seeds[0].but(
                    query=plan.seeds[0].query.but(time_range=Window(start=T0 - timedelta(days=2), end=T0))
                ),
            )
        ),
        "outside baseline.start",
    ),
    "two hypotheses of one name": (lambda plan: plan.but(hypotheses=(_h("h1"), _h("h1"))), "plan.hypotheses"),
    "seven hypotheses": (
        lambda plan: plan.but(hypotheses=tuple(_h(f"h{number}") for number in range(7))), "plan.hypotheses"
    ),
    "text without bytes": (lambda plan: plan.but(objective="\ud800"), "facts, plan"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_PLANS)
async def test_a_plan_that_cannot_be_run_is_refused_by_the_name_of_its_field(what: str) -> None:
    runs, fence = await fresh()
    changed, field = BAD_PLANS[what]

    said = await refuses(runs, ConfigurationError, fence, plan=changed(runs.given_plan))

    assert field in said


async def test_a_connector_of_another_workspace_is_refused() -> None:
    runs, fence = await fresh()
    runs.connector.context = CONTEXT.but(workspace="rival")

    said = await refuses(runs, ConfigurationError, fence)

    assert "'rival'" in said
