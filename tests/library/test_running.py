"""A run in a host's process: what it records, how it ends, and that it goes on from wherever its journal stands."""

from __future__ import annotations

import pytest
from typing_extensions import override

from inquest.domain.budget import Limits, Spend
from inquest.domain.effect import EffectState
from inquest.domain.event import PlanCommitted, RunStarted, RunSucceeded, StageCommitted
from inquest.domain.investigation import (
    Diagnosed,
    FactsExtracted,
    Integrations,
    IntegrationsResolved,
    ServiceGuess,
    Status,
)
from inquest.errors import ModelError
from inquest.library import HostTerms
from inquest.ports import ModelFailure, Write
from inquest.runtime.replay import contents_wanted, replay
from inquest.store.memory import MemoryJournal
from tests.builders import facts
from tests.library.library_runs import BY, IDENTITY, KEY, NOBODY, LibraryRuns
from tests.loop_host import INVESTIGATION
from tests.runtime.whole_runs import Spy

GIVEN = ["run_started", "resolve_integrations", "extract_alert", "plan_committed"]


async def replayed(runs: LibraryRuns) -> bytes:
    """Rebuild the journal offline and check it against its end."""
    chronicle = await runs.chronicle()
    return replay(chronicle, await runs.memory.content(contents_wanted(chronicle))).canonical()


def spied(runs: LibraryRuns) -> Spy:
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy
    return spy


# ---- what is recorded


@pytest.mark.parametrize("by", BY)
async def test_stages_1_to_3_are_recorded_as_given_4_and_5_run_and_nothing_is_delivered(by: str) -> None:
    runs = LibraryRuns(by=by)

    projection = await runs.investigate(await runs.start())

    kinds = await runs.kinds()
    assert kinds[:4] == GIVEN
    assert kinds[-3:] == ["gather_evidence", "diagnose", "run_succeeded"]
    assert "deliver" not in kinds
    assert runs.memory.revisions(INVESTIGATION) == ()
    assert runs.memory.status(INVESTIGATION) is Status.SUCCEEDED
    assert projection.plan == runs.given_plan
    assert projection.stop_reason == "concluded"
    assert len(projection.evidence) >= 4
    assert projection.diagnosis is not None


async def test_start_facts_plan_and_the_reservations_of_the_seeds_are_one_write() -> None:
    runs = LibraryRuns()
    spy = spied(runs)

    await runs.investigate(await runs.start())

    first = spy.commits[0]
    started, resolved, extracted, planned = first.events
    assert isinstance(started, RunStarted)
    assert (started.identity, started.deadline_at) == (IDENTITY, runs.given_plan.budget.deadline_at)
    assert started.limits == Limits(wall_clock_s=600)
    assert extracted == StageCommitted(update=FactsExtracted(facts=runs.given_facts))
    assert planned == PlanCommitted(plan=runs.given_plan)
    assert [one.key for one in first.reservations] == [seed.key for seed in runs.given_plan.seeds]
    assert isinstance(resolved, StageCommitted)
    assert isinstance(resolved.update, IntegrationsResolved)
    found: Integrations = resolved.update.integrations
    assert [source.name for source in found.sources] == ["synthetic"]
    assert (found.service.service_id, found.service.namespace, found.service.workload) == (
        "checkout",
        "shop",
        "checkout",
    )
    assert found.service.matchers["loki"] == {"namespace": "shop", "service": "checkout"}


async def test_a_host_may_say_how_its_sources_select_the_service() -> None:
    known = ServiceGuess(service_id="checkout", how="catalogue", matchers={"prometheus": {"app": "checkout"}})

    assert (await _resolved(LibraryRuns(lent=HostTerms(service=known)))).service == known


async def _resolved(runs: LibraryRuns) -> Integrations:
    await runs.investigate(await runs.start())
    (found,) = [
        body.update.integrations
        for body in await runs.bodies(StageCommitted)
        if isinstance(body.update, IntegrationsResolved)
    ]
    return found


async def test_the_model_s_list_prompts_and_window_are_fixed_at_the_start() -> None:
    runs = LibraryRuns(by="model")

    await runs.investigate(await runs.start())

    (started,) = await runs.bodies(RunStarted)
    assert started.models == ("provider/one",)
    assert started.limits.context_window_tokens == 64_000
    stored = await runs.memory.content(list(started.prompts.values()))
    assert {name: stored[digest].decode() for name, digest in started.prompts.items()} == runs.prompts


@pytest.mark.parametrize("signed", [True, False])
async def test_the_end_is_signed_with_the_key_that_the_host_lends(signed: bool) -> None:
    runs = LibraryRuns(lent=HostTerms(key=KEY if signed else None))

    projection = await runs.investigate(await runs.start())

    (ended,) = await runs.bodies(RunSucceeded)
    digest = projection.canonical_digest()
    assert ended.projection_digest == digest
    assert ended.signature == (KEY.sign(digest.encode()) if signed else None)


# ---- from wherever it stands (checklist 67 to 69, 72, 75)


@pytest.mark.parametrize("before", [False, True], ids=["after the write", "before the write"])
@pytest.mark.parametrize("by", BY)
async def test_killed_at_every_write_it_comes_to_the_same_end(by: str, before: bool) -> None:
    whole = LibraryRuns(by=by)
    spy = spied(whole)
    expected = (await whole.investigate(await whole.start())).but(spend=Spend())
    kinds = await whole.kinds()
    assert spy.writes > 15

    for dies_at in range(1, spy.writes):
        runs = LibraryRuns(by=by)
        assert await runs.run_and_die(dies_at, before=before), dies_at
        done = {row.key: row for row in (await runs.chronicle()).effects if row.state is EffectState.COMMITTED}

        projection = await runs.investigate(await runs.claim())

        assert projection.but(spend=Spend()) == expected, dies_at
        assert await runs.kinds() == kinds, dies_at
        assert await runs.bought_too_often() == [], dies_at
        rows = {row.key: row for row in (await runs.chronicle()).effects}
        assert {key: rows[key] for key in done} == done, dies_at
        assert await replayed(runs) == projection.canonical(), dies_at


async def test_an_owner_that_dies_before_the_first_write_leaves_nothing_and_the_next_one_begins() -> None:
    runs = LibraryRuns()
    assert await runs.run_and_die(1, before=True)
    assert await runs.events() == ()

    await runs.investigate(await runs.claim())

    assert (await runs.kinds())[:4] == GIVEN


class Noting(Spy):
    """Notes which write was the first with an event of each kind."""

    @override
    def __init__(self, memory: MemoryJournal) -> None:
        super().__init__(memory)
        self.first: dict[str, int] = {}

    @override
    async def commit(self, write: Write) -> int:
        version = await super().commit(write)
        for event in write.events:
            self.first.setdefault(event.kind, self.writes)
        return version


async def test_after_a_turn_is_committed_the_model_is_not_asked_for_it_again() -> None:
    whole = LibraryRuns(by="model")
    noting = Noting(whole.memory)
    whole.wrap = lambda _: noting
    await whole.investigate(await whole.start())
    runs = LibraryRuns(by="model")
    await runs.run_and_die(noting.first["turn_committed"], before=False)
    asked = len(runs.model.requests)

    await runs.investigate(await runs.claim())

    assert asked == 1
    assert runs.model.requests == whole.model.requests


async def test_a_resumed_run_asks_with_the_prompts_that_it_began_with() -> None:
    runs = LibraryRuns(by="model")
    await runs.run_and_die(4, before=False)
    runs.prompts = {"investigate": "Look elsewhere.", "diagnose": "Say nothing."}

    await runs.investigate(await runs.claim())

    assert {request.messages[0].text for request in runs.model.requests} == {"Look.", "Say."}


async def test_called_again_with_the_same_fence_it_goes_on() -> None:
    whole = LibraryRuns()
    expected = (await whole.investigate(await whole.start())).but(spend=Spend())
    runs = LibraryRuns()
    fence = await runs.start()
    await runs.cut_after(9, fence)

    assert (await runs.investigate(fence)).but(spend=Spend()) == expected


# ---- its ends


async def test_a_deadline_that_passes_ends_the_loop_with_what_there_is() -> None:
    runs = LibraryRuns(by="script")

    async def slow(_: object) -> None:
        runs.clock.pass_(200)

    runs.tools[0].hold = slow

    projection = await runs.investigate(await runs.start())

    assert projection.stop_reason == "deadline"
    assert len(projection.evidence) >= 1
    assert await replayed(runs) == projection.canonical()


async def test_the_ceilings_of_the_plan_hold() -> None:
    runs = LibraryRuns(planned_with=lambda plan: plan.but(budget=plan.budget.but(max_connector_effects=6)))

    projection = await runs.investigate(await runs.start())

    assert projection.stop_reason == "max_calls"
    assert runs.executions == 6
    (started,) = await runs.bodies(RunStarted)
    assert started.limits.max_connector_effects == 6


async def test_a_model_that_could_cost_more_than_is_allowed_is_not_asked() -> None:
    runs = LibraryRuns(by="model", lent=HostTerms(limits=Limits(max_usd_micros=0)))

    projection = await runs.investigate(await runs.start())

    assert runs.model.requests == []
    assert projection.stop_reason == "max_usd"
    assert projection.diagnosis is not None
    assert projection.diagnosis.author == "analyst"


async def test_facts_that_say_noise_end_at_once() -> None:
    runs = LibraryRuns(given_facts=facts(noise="a test notification"))

    projection = await runs.investigate(await runs.start())

    assert await runs.kinds() == [*GIVEN, "run_succeeded"]
    assert (projection.stop_reason, runs.executions) == ("noise", 0)
    assert await replayed(runs) == projection.canonical()
    assert await runs.investigate(NOBODY) == projection


async def test_a_model_that_fails_leaves_the_end_to_the_analyst_and_says_so() -> None:
    runs = LibraryRuns(script=[ModelError(ModelFailure.AUTHENTICATION, "the key is not taken")])

    projection = await runs.investigate(await runs.start())

    (diagnosed,) = [one.update for one in await runs.bodies(StageCommitted) if isinstance(one.update, Diagnosed)]
    assert diagnosed.diagnosis.author == "analyst"
    assert "the key is not taken" in diagnosed.diagnosis.degraded
    assert projection.diagnosis == diagnosed.diagnosis
