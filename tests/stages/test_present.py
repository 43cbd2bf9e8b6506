"""What is now is no evidence of a past: it is not planned, not offered, not found, and the report says why."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from inquest.models.scripted import in_order
from inquest.stages.coverage import coverage
from inquest.stages.extract_alert import facts_of
from inquest.stages.gather_evidence.internal_tools import INTERNAL_TOOLS
from inquest.stages.plan_actions import plan_of
from inquest.stages.present import LATE, fit_to_ask, why_not_now
from tests.builders import NOW, facts, integrations, investigation
from tests.loop_host import Host, SyntheticConnector, call, calls, reply, spec, tool

LATER = NOW + timedelta(hours=2)
TOLD = f"it shows what is now, and the window ended at {NOW:%Y-%m-%d %H:%M:%S} UTC"


@pytest.mark.parametrize(
    ("began_at", "told"), [(NOW, ""), (NOW + LATE, ""), (NOW + LATE + timedelta(seconds=1), TOLD), (LATER, TOLD)]
)
def test_only_an_incident_that_was_over_for_minutes_is_of_the_past(began_at: datetime, told: str) -> None:
    assert why_not_now(facts(), began_at) == told


def test_before_the_facts_nothing_is_known_of_that() -> None:
    assert why_not_now(None, LATER) == ""


@pytest.mark.parametrize(("began_at", "names"), [(NOW, {"now_query", "then_query"}), (LATER, {"then_query"})])
def test_what_is_now_is_ranked_and_offered_only_while_it_is_evidence(began_at: datetime, names: set[str]) -> None:
    state = investigation(started_at=began_at)
    connector = SyntheticConnector([tool("now_query", signal="alerts"), tool("then_query")])
    budget = state.plan.budget if state.plan is not None else None
    assert state.integrations is not None
    assert budget is not None

    plan = plan_of(facts(), state.integrations, [connector], budget, began_at=began_at)
    offered = fit_to_ask({one.spec.name: one.spec for one in connector.tools}, state)

    assert {one.name for one in plan.tools} == names
    assert {*offered} == names


def test_a_host_that_does_not_say_when_it_began_is_planned_for_as_ever() -> None:
    state = investigation()
    assert state.integrations is not None
    assert state.plan is not None
    connector = SyntheticConnector([tool("now_query", signal="alerts")])

    assert [one.name for one in plan_of(facts(), state.integrations, [connector], state.plan.budget).tools] == [
        "now_query"
    ]


async def test_nobody_finds_it_by_a_search_nor_calls_it_nor_is_sent_to_it() -> None:
    host = Host(
        [tool("now_query", signal="alerts"), tool("then_query")],
        signals=("metrics", "alerts"), hypotheses=(), begins=LATER,
    )  # fmt: skip

    await host.gather(
        in_order(
            [
                calls(call("search_tools", query="now_query"), call("now_query", "2", expression="up")),
                calls(call("then_query", expression="up")),
                reply("It broke."),
            ]
        )
    )

    assert {one.name for one in host.views[0].tools} == {*INTERNAL_TOOLS, "then_query"}
    assert [len(one.ran) for one in host.tools] == [0, 1]
    assert "now_query" not in (await host.state()).answers[0].text
    assert (await host.state()).answers[1].code == "capability_denied"
    assert (await host.state()).nudges == ()


def test_the_coverage_says_why_it_was_not_asked() -> None:
    source = integrations().sources[0].but(signals=("alerts", "metrics"), tools=("now_query", "then_query"))

    rows = coverage((), (), (), integrations().but(sources=(source,)), not_now=TOLD)

    assert [(row.signal, row.why) for row in rows] == [("alerts", TOLD), ("metrics", "not used: now_query, then_query")]


def test_the_window_of_an_alert_that_fires_ends_now_whenever_it_is_looked_at() -> None:
    state = investigation(started_at=LATER)

    assert why_not_now(facts_of(state, now=LATER), state.started_at) == ""
    assert fit_to_ask({"now_query": spec("now_query", signal="alerts")}, state.but(facts=None)) != {}
