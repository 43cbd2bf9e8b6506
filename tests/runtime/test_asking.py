"""A whole run that asks which service is meant, before anything is planned: answered, unanswered, never allowed to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from inquest.domain.alert import Alert
from inquest.domain.budget import Limits, Spend
from inquest.domain.event import InterruptRaised, StageCommitted
from inquest.domain.investigation import Integrations, IntegrationsResolved, Status
from inquest.domain.projection import Projection
from inquest.domain.service import Service
from inquest.stages.extract_alert import TEST_NOTIFICATIONS
from inquest.store.rules import INTERRUPT_LIFE
from tests.builders import alert
from tests.loop_host import INVESTIGATION, call, calls, judged, reply
from tests.runtime.test_pipeline import STAGED, replayed
from tests.runtime.whole_runs import SIGNAL_ALERT, WholeRuns

ALIKE = (
    Service(name="checkout", match={"service": "checkout"}),
    Service(name="checkout-eu", match={"severity": "critical"}),
)
Q1 = f"{INVESTIGATION}-q1"


def asking(most: int = 1, about: Alert = SIGNAL_ALERT) -> WholeRuns:
    return WholeRuns(analyst=True, limits=Limits(max_questions=most), about=about)


async def run(runs: WholeRuns, catalogue: Sequence[Service] = ALIKE) -> None:
    fence = await (runs.claim() if runs.owners else runs.start())
    await runs.run(fence, catalogue=tuple(catalogue))


async def integrations(runs: WholeRuns) -> Integrations:
    (found,) = [
        event.body.update.integrations
        for event in await runs.events()
        if isinstance(event.body, StageCommitted) and isinstance(event.body.update, IntegrationsResolved)
    ]
    return found


def asked(runs: WholeRuns) -> float:
    return runs.metrics.registry.get_sample_value("inquest_questions_total", {"outcome": "asked"}) or 0


async def test_an_ambiguous_service_is_asked_for_before_anything_is_planned_or_sent() -> None:
    runs = asking()

    await run(runs)

    assert await runs.kinds() == ["run_started", "interrupt_raised"]
    assert runs.executions == 0
    assert runs.memory.status(INVESTIGATION) is Status.WAITING
    assert [revision.kind for revision in runs.memory.revisions(INVESTIGATION)] == ["question"]
    assert asked(runs) == 1


@pytest.mark.parametrize(
    ("answer", "service"), [("checkout", "checkout"), ("it is checkout-eu.", "checkout-eu"), ("?", "checkout-eu")]
)
async def test_the_answer_chooses_among_those_that_matched_and_the_run_replays(answer: str, service: str) -> None:
    runs = asking()
    await run(runs)

    await runs.memory.answer(INVESTIGATION, Q1, answer)
    await run(runs)

    assert (await integrations(runs)).service.service_id == service
    kinds = await runs.kinds()
    assert kinds[:3] == ["run_started", "interrupt_raised", "interrupt_answered"]
    assert [kind for kind in kinds if kind in STAGED] == STAGED
    assert runs.memory.status(INVESTIGATION) is Status.SUCCEEDED
    assert await replayed(runs) == "concluded"
    assert asked(runs) == 1


async def test_unanswered_it_comes_a_week_later_to_what_it_comes_to_when_nobody_may_be_asked() -> None:
    at_once, waited = asking(0), asking()
    await run(at_once)
    await run(waited)
    assert waited.memory.status(INVESTIGATION) is Status.WAITING

    waited.clock.moment += INTERRUPT_LIFE
    await waited.memory.expire_interrupts()
    await run(waited)

    assert (await integrations(waited)).service == (await integrations(at_once)).service
    one, other = await at_once.projected(), await waited.projected()
    assert (one.diagnosis is None, one.stop_reason) == (False, other.stop_reason)
    assert one.diagnosis is not None
    assert other.diagnosis is not None
    assert other.diagnosis.verdict is one.diagnosis.verdict


async def test_nobody_is_asked_for_a_service_that_the_catalogue_decides_nor_for_a_test_notification() -> None:
    decided = asking()
    await run(decided, ALIKE[:1])
    noise = asking(about=alert(name=next(iter(TEST_NOTIFICATIONS))))
    await run(noise)

    for runs in (decided, noise):
        assert await runs.bodies(InterruptRaised) == []
        assert runs.memory.status(INVESTIGATION) is Status.SUCCEEDED


ASKED_BY_THE_MODEL = [
    calls(call("prometheus_query_range", "a", expression="latency"), call("ask_human", "q", question="Who deployed?")),
    calls(*judged("h1", "h2", "h3", "h4")),
    reply("The deployment broke it."),
]


def by_a_model() -> WholeRuns:
    return WholeRuns(limits=Limits(max_questions=1), script=ASKED_BY_THE_MODEL)


async def to_the_end(runs: WholeRuns) -> None:
    """Let owners come until it waits, answer, and let owners come until it ends."""
    while runs.memory.status(INVESTIGATION) is not Status.SUCCEEDED:
        if runs.memory.status(INVESTIGATION) is Status.WAITING:
            await runs.memory.answer(INVESTIGATION, Q1, "alice did")
        await runs.run(await runs.claim())


def comparable(projected: Projection) -> Projection:
    return projected.but(spend=Spend())


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", [2, 4, 7, 10, 12, 13, 14, 15])
async def test_an_owner_that_dies_at_any_write_up_to_the_question_leaves_one_question_and_the_same_end(
    dies_at: int, *, before: bool
) -> None:
    whole = by_a_model()
    await whole.run()
    await to_the_end(whole)
    runs = by_a_model()

    await runs.run_and_die(dies_at, before=before)
    await to_the_end(runs)

    assert [one.interrupt_id for one in await runs.bodies(InterruptRaised)] == [Q1]
    assert comparable(await runs.projected()) == comparable(await whole.projected())
    assert await runs.bought_too_often() == []
    assert await replayed(runs) == "concluded"


async def test_owner_after_owner_finds_nothing_to_do_while_it_waits() -> None:
    runs = asking()
    await run(runs)
    before = await runs.chronicle()

    for number in range(3):
        assert await runs.memory.claim(f"owner-{number}") is None

    assert await runs.chronicle() == before
    assert runs.executions == 0
