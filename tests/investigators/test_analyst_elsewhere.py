"""The analyst about an alert whose own signal no connected source holds: the service's errors stand in for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typing_extensions import override

from inquest.analysis.siblings import siblings
from inquest.domain.diagnosis import Verdict
from inquest.investigators.analyst.appraisal import appraise
from inquest.investigators.analyst.proposing import propose
from inquest.ports import LoopView
from tests.builders import at
from tests.investigators.test_analyst import CALM, ERRORS, LIMIT, TRAFFIC, USED, Case, deployed, diagnose

FAILED, SLOW = (
    siblings([{"__name__": name, "service": "checkout", "le": "1"}], {"service": "checkout"})[0].expression
    for name in ("checkout_errors_total", "checkout_request_duration_seconds_bucket")
)
NAMES = ("db_pool_connections_in_use", "db_pool_connections_max", "checkout_errors_total", "http_requests_total")


class Elsewhere(Case):
    """Evidence about an alert that gives no expression, and has no rule at the source of metrics.

    No range query is among its seeds: all were asked in turns.
    """

    expression = ""

    @override
    def ask(self, expression: str, *values: float | None, away_from: int = 40) -> None:
        super().ask(expression, *values, away_from=away_from)
        key = f"turn/1/call/{len(self.exchanges)}"
        self.shelf.items[-1] = self.shelf.items[-1].but(effect_key=key)
        self.shelf.asked[-1] = self.shelf.asked[-1].but(effect_key=key)
        self.exchanges[-1] = self.exchanges[-1].but(key=key)

    @property
    @override
    def view(self) -> LoopView:
        seen = super().view
        assert seen.investigation.facts is not None
        facts = seen.investigation.facts.but(expression=self.expression)
        return seen.but(investigation=seen.investigation.but(facts=facts))


class Measured(Elsewhere):
    """The same, about an alert whose expression is known."""

    expression = "errors > 0.05"


def exhausted() -> Elsewhere:
    case = Elsewhere()
    case.names(*NAMES)
    case.ask(USED, *([11.0, 12.0, 10.0] * 10)[:29], *[20.0] * 31)
    case.ask(LIMIT, *[20.0] * 60)
    case.ask(TRAFFIC, *[100.0, 101.0, 99.0] * 20)
    return case


def test_the_errors_of_the_service_show_the_onset_and_the_deployment_before_them_is_the_cause() -> None:
    case = deployed(exhausted())
    case.ask(FAILED, *CALM, *ERRORS)

    found = diagnose(case)

    assert (found.verdict, found.downgraded, found.non_validated_claims) == (Verdict.CAUSE_FOUND, "", ())
    assert found.root_cause_category == "change.deployment"
    assert found.onset is not None
    assert found.onset.at == at(-10)
    assert "checkout_errors_total of checkout" in found.root_cause


def test_errors_that_stay_at_their_baseline_stand_in_for_nothing_and_nothing_is_called_healthy() -> None:
    case = exhausted()
    case.ask(FAILED, *CALM, *CALM)

    found = diagnose(case)

    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.root_cause == (
        "The alert's own signal is measured where nothing is connected, and the service's errors and latency that could "
        "be looked at stayed at their baseline."
    )


def test_errors_that_were_not_seen_long_enough_are_said_to_be_that() -> None:
    case = exhausted()
    case.ask(FAILED, *[None] * 30, *ERRORS)

    found = diagnose(case)

    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.root_cause == (
        "The alert's own signal is measured where nothing is connected, and checkout_errors_total of checkout was not "
        "seen long enough before the alert fired to tell what is normal."
    )


def test_where_nothing_was_asked_that_could_stand_in_nobody_says_that_it_stayed_the_same() -> None:
    found = diagnose(exhausted())

    assert found.root_cause == "The alert's own signal could not be looked at."


def test_latency_stands_in_where_no_errors_rose_and_what_only_fills_up_does_not() -> None:
    case = exhausted()
    case.names(*NAMES, "checkout_request_duration_seconds_bucket")
    case.ask(FAILED, *CALM, *CALM)
    assert (seen := appraise(case.view)) is not None
    assert seen.signal is None

    case.ask(SLOW, *CALM, *ERRORS)

    assert (seen := appraise(case.view)) is not None
    assert seen.signal is not None
    assert seen.signal.subject == "checkout_request_duration_seconds_bucket of checkout"


def test_a_signal_that_is_known_and_was_not_answered_has_no_stand_in() -> None:
    case = Measured()
    case.names(*NAMES)
    case.ask(FAILED, *CALM, *ERRORS)

    assert (seen := appraise(case.view)) is not None
    assert seen.signal is None


@pytest.mark.parametrize(
    ("rule", "away_from", "verdict"),
    [
        ("it was at the same height long before it fired", 40, Verdict.HEALTHY),
        ("what it began with may be the trouble", 14, Verdict.INCONCLUSIVE),
    ],
)
def test_an_ended_alert_is_healthy_only_where_normal_was_seen_before_it(
    rule: str, away_from: int, verdict: Verdict
) -> None:
    case = Case()
    case.ask("errors", *CALM, *CALM, away_from=away_from)
    found = appraise(case.view)
    assert found is not None

    assert propose(replace(found, is_firing=False)).verdict is verdict, rule
