"""What each event makes of an investigation."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inquest.domain.event import (
    EpisodeChanged,
    EventBody,
    GenerationAdvanced,
    InterruptAnswered,
    InterruptExpired,
    PlanCommitted,
    RunCancelled,
    RunStarted,
    StageCommitted,
)
from inquest.domain.investigation import FactsExtracted, IntegrationsResolved, Investigation
from inquest.domain.window import Window
from inquest.errors import InvariantBroken
from inquest.stages.fold import deadline, fold
from tests.builders import NOW, T0, alert, at, episode, facts, integrations, investigation, window

WHOLE = investigation()
STARTED = RunStarted(
    identity=WHOLE.identity,
    origin=WHOLE.origin,
    episode=episode(),
    models=WHOLE.models,
    prompts={},
    limits=WHOLE.limits,
    started_at=T0,
    deadline_at=at(10),
    release="test",
)
FACTS = StageCommitted(update=FactsExtracted(facts=facts()))


def folded(*bodies: EventBody) -> Investigation:
    state = fold([STARTED, *bodies])
    assert state is not None
    return state


def test_each_stage_sets_its_own_section() -> None:
    assert WHOLE.plan is not None

    state = folded(
        StageCommitted(update=IntegrationsResolved(integrations=integrations())),
        FACTS,
        PlanCommitted(plan=WHOLE.plan),
    )

    assert state == WHOLE.but(gathered=None)


def test_a_section_is_set_once() -> None:
    with pytest.raises(InvariantBroken, match="has already run"):
        folded(FACTS, FACTS)


def test_nothing_is_there_before_the_start() -> None:
    advanced = GenerationAdvanced(owner_id="o", generation=1, attempt=1, why="claim")

    assert fold([advanced, RunCancelled(reason="expired", actor="sweep")]) is None
    with pytest.raises(InvariantBroken, match="comes before run_started"):
        fold([FACTS])


def test_members_join_and_resolve_and_the_window_only_moves_forward() -> None:
    joined = episode(alert("Other")).members[0].but(alert_id="a-2")

    state = folded(
        FACTS,
        EpisodeChanged(joined=(joined,), resolved=("a-1",), window_end=at(60)),
        EpisodeChanged(joined=(joined,), window_end=at(40)),
    )

    members = [(member.alert_id, str(member.alert.status)) for member in state.episode.members]
    assert members == [("a-1", "resolved"), ("a-2", "firing")]
    assert state.facts is not None
    assert state.facts.window.incident == Window(start=window().incident.start, end=at(60))
    assert state.facts.window.baseline == window().baseline


def test_a_member_that_fires_again_fires() -> None:
    state = folded(
        EpisodeChanged(resolved=("a-1",), window_end=at(40)), EpisodeChanged(fired_again=("a-1",), window_end=at(50))
    )

    (member,) = state.episode.members
    assert (member.alert.status, member.alert.ends_at) == ("firing", None)


def test_of_an_old_trouble_only_the_last_hour_moves() -> None:
    old = window().but(last_hour=Window(start=NOW + timedelta(days=8), end=NOW + timedelta(days=8, hours=1)))
    later = NOW + timedelta(days=8, hours=2)

    state = folded(StageCommitted(update=FactsExtracted(facts=facts(window=old))), EpisodeChanged(window_end=later))

    assert state.facts is not None
    assert state.facts.window.incident == window().incident
    assert state.facts.window.last_hour == Window(start=NOW + timedelta(days=8), end=later)


@pytest.mark.parametrize(
    "answered",
    [
        InterruptAnswered(interrupt_id="i", answer="yes", actor="a", extended_until=at(90)),
        InterruptExpired(interrupt_id="i", extended_until=at(90)),
    ],
)
def test_an_interrupt_extends_the_deadline_and_nothing_shortens_it(answered: EventBody) -> None:
    assert WHOLE.plan is not None
    plan = PlanCommitted(plan=WHOLE.plan)

    assert deadline(folded(plan)) == at(10)
    assert deadline(folded(plan, answered)) == at(90)
    assert deadline(folded(answered)) == at(90)
