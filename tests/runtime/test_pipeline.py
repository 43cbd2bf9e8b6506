"""Six stages in order from wherever the journal stands, and every way in which a run ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from typing_extensions import override

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.delivery import RevisionKind
from inquest.domain.effect import EffectState
from inquest.domain.event import EpisodeChanged, PlanCommitted, RunFailed, RunStarted, RunSucceeded, StageCommitted
from inquest.domain.investigation import Delivered, Diagnosed, Status
from inquest.domain.projection import NOTHING_REBUILT
from inquest.entrypoints.cli.exits import Exit, exit_of
from inquest.errors import FenceLost, Halted, ModelError, ReplayMismatch, StoreUnavailable
from inquest.ports import ModelFailure, Revision
from inquest.runtime import pipeline
from inquest.runtime.ends import ATTEMPTS_USED_UP, UNREADABLE
from inquest.runtime.replay import contents_wanted, replay
from inquest.stages import STAGES
from tests.builders import alert
from tests.loop_deaths import Dying
from tests.loop_host import INVESTIGATION
from tests.runtime.whole_runs import PROMPTS, Spy, WholeRuns

STAGED = ["resolve_integrations", "extract_alert", "plan_committed", "gather_evidence", "diagnose", "deliver"]


async def replayed(runs: WholeRuns) -> str:
    """Rebuild the journal offline and compare it with its end; give its stop reason."""
    chronicle = await runs.chronicle()
    return replay(chronicle, await runs.memory.content(contents_wanted(chronicle))).stop_reason


async def writes_of_a_whole_run() -> int:
    runs = WholeRuns()
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy
    await runs.run()
    return spy.writes


# ---- in order


@pytest.mark.parametrize("analyst", [True, False], ids=["by the analyst", "by a model"])
async def test_the_six_stages_commit_in_order_and_the_run_ends(analyst: bool) -> None:
    runs = WholeRuns(analyst=analyst)

    await runs.run()

    kinds = await runs.kinds()
    assert kinds[0] == "run_started"
    assert [kind for kind in kinds if kind in STAGED] == STAGED
    assert kinds[-1] == "run_succeeded"
    assert runs.memory.status(INVESTIGATION) is Status.SUCCEEDED
    assert await replayed(runs) == "concluded"


async def test_the_diagnosis_asks_from_the_state_in_which_the_loop_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def folded(_: object) -> None:
        pytest.fail("the journal was folded once more")

    monkeypatch.setattr(pipeline, "load", folded)
    runs = WholeRuns()

    await runs.run()

    assert await replayed(runs) == "concluded"


async def test_what_is_bound_is_what_the_table_of_contents_lists() -> None:
    assert [name.replace("plan_actions", "plan_committed") for name in STAGES] == STAGED


async def test_the_plan_commits_with_the_word_that_the_investigation_is_in_progress() -> None:
    runs = WholeRuns()
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy

    await runs.run()

    (planned,) = [one for one in spy.commits if any(isinstance(event, PlanCommitted) for event in one.events)]
    assert planned.revisions == (Revision(kind=RevisionKind.PROGRESS),)
    assert [one.kind for one in runs.memory.revisions(INVESTIGATION)] == [RevisionKind.PROGRESS, RevisionKind.REPORT]


async def test_the_last_stage_commits_with_the_end_and_with_the_report_to_send() -> None:
    runs = WholeRuns()
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy

    await runs.run()

    staged, ended = spy.commits[-1].events
    assert isinstance(staged, StageCommitted)
    assert isinstance(staged.update, Delivered)
    assert isinstance(ended, RunSucceeded)
    assert spy.commits[-1].revisions == (Revision(kind=RevisionKind.REPORT),)
    assert staged.update.report.report_digest in spy.commits[-1].contents


async def test_the_plan_reserves_its_seeds_in_the_transaction_that_commits_it() -> None:
    runs = WholeRuns()
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy

    await runs.run()

    (write,) = [one for one in spy.commits if any(isinstance(event, PlanCommitted) for event in one.events)]
    (plan,) = [event.plan for event in write.events if isinstance(event, PlanCommitted)]
    assert len(plan.seeds) == 6
    assert [one.key for one in write.reservations] == [seed.key for seed in plan.seeds]


async def test_the_start_fixes_models_prompts_and_ceilings() -> None:
    runs = WholeRuns()

    await runs.run()

    (started,) = await runs.bodies(RunStarted)
    assert started.models == ("scripted",)
    assert started.prompts == {name: digest_of(raw) for name, raw in PROMPTS.items()}
    assert (started.limits, started.release) == (runs.limits, "inquest/test")
    stored = await runs.memory.content(list(started.prompts.values()))
    assert set(stored.values()) == set(PROMPTS.values())


# ---- from wherever it stands


@pytest.mark.parametrize("before", [False, True], ids=["after the write", "before the write"])
async def test_killed_at_every_write_it_comes_to_the_same_end(before: bool) -> None:
    whole = WholeRuns()
    await whole.run()
    expected = (await whole.projected()).but(spend=Spend())
    kinds = [kind for kind in await whole.kinds() if kind in {*STAGED, "run_started", "run_succeeded"}]
    writes = await writes_of_a_whole_run()
    assert writes > 20

    for dies_at in range(2 if before else 1, writes):
        runs = WholeRuns()
        assert await runs.run_and_die(dies_at, before=before), dies_at
        committed = {row.key for row in (await runs.chronicle()).effects if row.state is EffectState.COMMITTED}

        await runs.run(await runs.claim())

        assert (await runs.projected()).but(spend=Spend()) == expected, dies_at
        assert [kind for kind in await runs.kinds() if kind in set(kinds)] == kinds, dies_at
        assert await runs.bought_too_often() == [], dies_at
        rows = (await runs.chronicle()).effects
        assert [row.key for row in rows if row.key in committed and row.dispatches > 1] == [], dies_at
        await replayed(runs)


async def test_an_owner_that_dies_before_the_start_leaves_nothing_and_the_next_one_starts() -> None:
    runs = WholeRuns()
    assert await runs.run_and_die(1, before=True)
    assert await runs.events() == ()

    await runs.run(await runs.claim())

    assert runs.memory.status(INVESTIGATION) is Status.SUCCEEDED


async def test_a_resumed_run_does_not_read_again_what_it_is_about() -> None:
    runs = WholeRuns()
    await runs.run_and_die(3, before=False)

    await runs.run(await runs.claim())

    assert runs.openings == 1


async def test_an_ended_run_is_left_as_it_is() -> None:
    runs = WholeRuns()
    fence = await runs.start()
    await runs.run(fence)
    before = await runs.chronicle()
    spy = Spy(runs.memory)
    runs.wrap = lambda _: spy

    await runs.run(fence)
    await runs.fail(fence)

    assert spy.writes == 0
    assert await runs.chronicle() == before


# ---- noise


async def test_noise_ends_without_a_tool_a_diagnosis_or_a_report() -> None:
    runs = WholeRuns(about=alert("InquestTest"))

    await runs.run()

    assert await runs.kinds() == ["run_started", "resolve_integrations", "extract_alert", "run_succeeded"]
    (ended,) = await runs.bodies(RunSucceeded)
    assert (ended.stop_reason, runs.executions, runs.asked[0].requests) == ("noise", 0, [])
    assert runs.memory.revisions(INVESTIGATION) == (Revision(kind=RevisionKind.NOISE),)  # closes what was received
    assert await replayed(runs) == "noise"
    assert exit_of(status="succeeded", verdict="", degraded=False) is Exit.ANSWERED


async def test_an_owner_that_dies_between_the_facts_and_the_end_of_noise_is_followed_by_one_that_ends_it() -> None:
    runs = WholeRuns(about=alert("InquestTest"))
    await runs.run_and_die(3, before=False)
    assert (await runs.kinds())[-1] == "extract_alert"

    await runs.run(await runs.claim())

    assert await runs.kinds() == ["run_started", "resolve_integrations", "extract_alert", "run_succeeded"]
    assert runs.executions == 0


# ---- errors


class Broken(Exception):
    """A bug of a stage."""


async def breaks() -> EpisodeChanged | None:
    raise Broken


async def test_a_stage_that_raises_is_counted_and_passes_and_the_journal_keeps_the_rest() -> None:
    runs = WholeRuns()
    fence = await runs.start()

    with pytest.raises(Broken):
        await runs.run(fence, episode_changes=breaks)

    kinds = await runs.kinds()
    assert [kind for kind in kinds if kind in STAGED] == STAGED[:3]
    ran = Counter(query.canonical_digest() for one in runs.tools for query in one.ran)
    assert errors(runs, "gather_evidence") == 1

    await runs.run(await runs.claim())

    assert runs.memory.status(INVESTIGATION) is Status.SUCCEEDED
    again = Counter(query.canonical_digest() for one in runs.tools for query in one.ran)
    assert {digest: again[digest] for digest in ran} == dict(ran)


@pytest.mark.parametrize("passing", [FenceLost("gone"), Halted("halted"), StoreUnavailable("away")])
async def test_a_lost_fence_a_halt_and_a_lost_database_are_no_errors_of_a_stage(passing: Exception) -> None:
    async def lost() -> EpisodeChanged | None:
        raise passing

    runs = WholeRuns()
    with pytest.raises(type(passing)):
        await runs.run(episode_changes=lost)

    assert errors(runs, "gather_evidence") == 0


def errors(runs: WholeRuns, stage: str) -> float:
    return runs.metrics.registry.get_sample_value("inquest_stage_errors_total", {"stage": stage}) or 0.0


def ends(runs: WholeRuns, status: str, reason: str) -> float:
    labels = {"status": status, "stop_reason": reason}
    return runs.metrics.registry.get_sample_value("inquest_investigations_total", labels) or 0.0


async def test_how_runs_ended_is_counted_once_each() -> None:
    runs = WholeRuns()
    fence = await runs.start()
    await runs.run(fence)
    await runs.run(fence)

    assert ends(runs, "succeeded", "concluded") == 1


@pytest.mark.parametrize("failing", ["turn", "diagnosis"])
async def test_a_model_that_fails_leaves_the_end_to_the_analyst_and_the_report_says_so(failing: str) -> None:
    failure = ModelError(ModelFailure.AUTHENTICATION, "the key is not taken")
    runs = WholeRuns(script=[failure]) if failing == "turn" else WholeRuns(diagnosis=failure)

    await runs.run()

    (diagnosis,) = [
        body.update.diagnosis for body in await runs.bodies(StageCommitted) if isinstance(body.update, Diagnosed)
    ]
    assert "the key is not taken" in diagnosis.degraded
    assert diagnosis.author == "analyst"
    assert runs.executions >= 4
    code = exit_of(status="succeeded", verdict=str(diagnosis.verdict), degraded=bool(diagnosis.degraded))
    assert code is Exit.DEGRADED


# ---- attempts used up


async def test_an_investigation_that_never_started_ends_failed_with_its_beginning() -> None:
    runs = WholeRuns()

    await runs.fail(await runs.start())

    assert await runs.kinds() == ["run_started", "run_failed"]
    (failed,) = await runs.bodies(RunFailed)
    assert failed.reason == ATTEMPTS_USED_UP
    assert runs.memory.revisions(INVESTIGATION) == (Revision(kind=RevisionKind.FAILED, note=ATTEMPTS_USED_UP),)
    assert runs.memory.status(INVESTIGATION) is Status.FAILED
    assert await replayed(runs) == ""
    assert ends(runs, "failed", "") == 1


async def test_an_investigation_with_evidence_ends_failed_signed_and_with_that_evidence() -> None:
    runs = WholeRuns()
    fence = await runs.start()
    with pytest.raises(Broken):
        await runs.run(fence, episode_changes=breaks)

    await runs.fail(fence)

    (failed,) = await runs.bodies(RunFailed)
    projected = await runs.projected()
    assert len(projected.evidence) >= 3
    assert failed.projection_digest == projected.canonical_digest()
    assert failed.signature is not None
    assert runs.memory.revisions(INVESTIGATION)[-1].kind is RevisionKind.FAILED
    await replayed(runs)


async def test_a_journal_that_cannot_be_read_back_ends_failed_all_the_same_and_replay_says_no() -> None:
    runs = WholeRuns()
    fence = await runs.start()
    with pytest.raises(Broken):
        await runs.run(fence, episode_changes=breaks)
    runs.memory._contents.clear()

    await runs.fail(fence)

    (failed,) = await runs.bodies(RunFailed)
    assert failed.reason == f"{ATTEMPTS_USED_UP}; {UNREADABLE}"
    assert (failed.projection_digest, failed.signature) == (NOTHING_REBUILT, None)
    assert runs.memory.status(INVESTIGATION) is Status.FAILED
    with pytest.raises(ReplayMismatch):
        replay(await runs.chronicle(), {})


async def test_a_lost_fence_ends_nothing() -> None:
    runs = WholeRuns()
    fence = await runs.start()
    await runs.claim()

    with pytest.raises(FenceLost):
        await runs.fail(fence)

    assert runs.memory.status(INVESTIGATION) is Status.RUNNING


async def test_without_a_key_nothing_is_signed() -> None:
    runs = WholeRuns(signer=None)

    await runs.run()

    (ended,) = await runs.bodies(RunSucceeded)
    assert ended.signature is None


async def test_a_database_that_is_away_while_it_concludes_is_no_reason_to_conclude_blindly() -> None:
    class Away(Dying):
        @override
        async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
            raise StoreUnavailable("away")

    runs = WholeRuns()
    fence = await runs.start()
    with pytest.raises(Broken):
        await runs.run(fence, episode_changes=breaks)
    runs.wrap = lambda memory: Away(memory, -1, before=False)

    with pytest.raises(StoreUnavailable):
        await runs.fail(fence)

    assert runs.memory.status(INVESTIGATION) is Status.RUNNING
