"""What the analyst blames where several things moved: what began last before the first departure, and explains it."""

from __future__ import annotations

import json

import pytest
from typing_extensions import override

from inquest.analysis.suspects import SETTLED_MS
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.domain.failure import FailureCode, failure
from inquest.domain.hypothesis import Hypothesis
from inquest.domain.observation import Signal
from inquest.domain.signals import ChangeRecord, SeriesNames
from inquest.domain.tool import ToolSpec
from inquest.domain.value import epoch_ms
from inquest.domain.window import Window
from inquest.investigators.analyst.appraisal import appraise
from inquest.investigators.analyst.judging import Judged, judge
from inquest.investigators.analyst.playbook import next_calls
from inquest.ports import LoopView
from tests.builders import Shelf, at, changes, deployment, logs, matrix, series
from tests.investigators.test_analyst import LIMIT, RANGE, USED, Case, broken, diagnose

THEIRS = '{service="payments"}'
LATE = f"histogram_quantile(0.99, sum by (le) (rate(request_seconds_bucket{THEIRS}[2m])))"
ANSWERED = f"sum(rate(http_requests_total{THEIRS}[2m]))"
FAILED = 'sum(rate(http_requests_total{service="payments", status=~"5.."}[2m]))'
REQUESTS = 'sum(rate(http_requests_total{service="checkout"}[2m]))'
COUNT = 'sum(count_over_time({service="checkout"}[60s]))'
USUAL, SLOW = [0.3, 0.31, 0.29] * 20, 1.5
CPU = 'sum(rate(process_cpu_seconds_total{service="checkout"}[2m]))'
RAN_OUT = "resource.connection_pool_exhausted"
CALM_MINUTES = SETTLED_MS // 60_000
"""Errors rise at T0 - 10 min (`broken`), and so does what is given from minute 30 of 60 on."""


class Calling(Case):
    """Evidence about a service that calls payments, whose labels are known. Errors rise ten minutes before the alert."""

    def __init__(self) -> None:
        super().__init__()
        self.shelf, self.exchanges = (known := broken()).shelf, known.exchanges

    @property
    @override
    def view(self) -> LoopView:
        seen = super().view
        assert seen.investigation.integrations is not None
        known = seen.investigation.integrations
        service = known.service.but(
            depends_on=("payments",), matchers={**known.service.matchers, "loki": {"service": "checkout"}}
        )
        more = known.but(service=service, dependencies={"payments": {"prometheus": {"service": "payments"}}})
        spec = {"description": "d", "parameters": {}, "source": "s", "step_ms": 15_000}
        offered: dict[str, Signal] = {"loki_query": "logs", "gitlab_deployments": "changes"}
        tools = (*seen.tools, *(ToolSpec.model_validate({"name": n, "signal": s, **spec}) for n, s in offered.items()))
        return seen.but(investigation=seen.investigation.but(integrations=more), tools=tools)

    def theirs(self, *metrics: str) -> Calling:
        """Answer the look-up of the series of payments."""
        found = SeriesNames(
            series=tuple(
                {"__name__": name, "service": "payments", ("status" if "http" in name else "le"): "1"}
                for name in metrics
            )
        )
        item = self.shelf.add(found, tool="prometheus_series", signal="names", expression=THEIRS)
        self.called(item.effect_key, "prometheus_series", {"selector": THEIRS}, item.name)
        return self

    def latency(self, worst: float, *, minutes_before: int = 2) -> Calling:
        """Let payments take `worst` seconds from so many minutes before the errors on."""
        self.theirs("request_seconds_bucket")
        calm = 30 - minutes_before
        self.ask(LATE, *USUAL[:calm], *[worst] * (60 - calm))
        return self

    def pool(self) -> Calling:
        """Let the pool fill a minute before the errors."""
        self.names("db_pool_connections_in_use", "db_pool_connections_max", "http_requests_total")
        self.ask(USED, *([11.0, 12.0, 10.0] * 10)[:29], *[20.0] * 31)
        self.ask(LIMIT, *[20.0] * 60)
        return self

    def requests(self, factor: float, *, minutes_before: int = 2) -> Calling:
        """Let so many times the usual customers come."""
        calm = 30 - minutes_before
        self.ask(REQUESTS, *([100.0, 101.0, 99.0] * 20)[:calm], *[100.0 * factor] * (60 - calm))
        return self

    def deployed(self, service: str, minutes_before: float, **about: object) -> Calling:
        """Let a deployment of `service` begin so many minutes before the errors."""
        record = deployment(f"shop/{service} deployment 7", at(-10 - minutes_before)).but(service=service, **about)
        return self.changed(record)

    def changed(self, *records: ChangeRecord) -> Calling:
        self.shelf.add(changes(*records), source="gitlab", tool="gitlab_deployments", expression="deployments")
        return self

    def logged(self, *lines_a_minute: float) -> Calling:
        """Count the lines of the service, a value a minute from 20 minutes before the errors on."""
        asked = Window(start=at(-30), end=at(5))
        found = matrix(series(list(lines_a_minute), start=at(-30))) if lines_a_minute else matrix()
        item = self.shelf.add(
            found, tool="loki_query", source="loki", signal="logs", expression=COUNT, time_range=asked
        )
        self.called(item.effect_key, "loki_query", {"expression": COUNT}, item.name)
        return self


class AboutCpu(Calling):
    """The same, of an alert that measures the service's CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.shelf, self.exchanges = Shelf(), []

    @property
    @override
    def view(self) -> LoopView:
        seen = super().view
        assert seen.investigation.facts is not None
        facts = seen.investigation.facts.but(expression=f"{CPU} > 4")
        return seen.but(investigation=seen.investigation.but(facts=facts))


def whole(found: Diagnosis) -> tuple[Verdict, str, str]:
    assert (found.downgraded, found.non_validated_claims) == ("", ())
    return found.verdict, found.root_cause_category, found.affected_object


OWN = (Verdict.CAUSE_FOUND, "change.deployment", "service/shop/checkout")
ITS = (Verdict.CAUSE_FOUND, "change.deployment", "service/-/payments")
SLOW_BY_ITSELF = (Verdict.CAUSE_FOUND, "dependency.slow", "service/-/payments")


# ---- a dependency --------------------------------------------------------------------------------------


def test_a_deployment_of_what_it_calls_is_blamed_when_that_answers_late_after_it() -> None:
    found = diagnose(Calling().pool().latency(SLOW).deployed("payments", 4))

    assert whole(found) == ITS
    assert [step.at for step in found.causal_chain] == sorted(step.at for step in found.causal_chain)
    assert "deployment of payments" in found.root_cause
    assert "request_seconds_bucket of payments" in found.root_cause


def test_its_own_deployment_that_was_followed_by_calm_gives_way_to_it_and_is_ruled_out() -> None:
    found = diagnose(Calling().pool().latency(SLOW).deployed("payments", 4).deployed("checkout", 35))

    assert whole(found) == ITS
    assert [one.hypothesis for one in found.ruled_out] == ["the deployment of checkout is the cause"]


def test_of_two_deployments_minutes_before_the_trouble_of_what_it_calls_the_last_one_is_blamed() -> None:
    assert whole(diagnose(Calling().pool().latency(SLOW).deployed("payments", 4).deployed("checkout", 9))) == ITS


@pytest.mark.parametrize("minutes", [CALM_MINUTES + 10, 1])
def test_a_deployment_of_what_it_calls_long_before_that_was_slow_or_after_it_is_not_blamed(minutes: float) -> None:
    found = diagnose(Calling().pool().latency(SLOW, minutes_before=8).deployed("payments", minutes))

    assert whole(found) == SLOW_BY_ITSELF


def test_its_own_deployment_is_blamed_where_what_it_calls_stayed_as_it_was() -> None:
    found = diagnose(Calling().pool().latency(0.3).deployed("payments", 4).deployed("checkout", 9))

    assert whole(found) == OWN
    assert [(one.hypothesis, one.reason) for one in found.ruled_out] == [
        ("the deployment of payments is the cause", "The service calls it, and it stayed at its baseline.")
    ]


def test_its_own_deployment_is_blamed_where_it_came_after_the_other_and_before_the_trouble() -> None:
    found = diagnose(Calling().pool().latency(SLOW).deployed("payments", 9).deployed("checkout", 4))

    assert whole(found)[1:] == OWN[1:]


def test_its_own_deployment_into_trouble_that_was_there_before_is_not_blamed() -> None:
    found = diagnose(Calling().pool().latency(SLOW, minutes_before=8).deployed("checkout", 2))

    assert whole(found) == SLOW_BY_ITSELF


def test_what_it_calls_may_become_slow_by_itself() -> None:
    assert whole(diagnose(Calling().pool().latency(SLOW))) == SLOW_BY_ITSELF


@pytest.mark.parametrize("minutes", [CALM_MINUTES + 3, 35])
def test_its_own_deployment_long_before_gives_way_to_what_it_calls(minutes: float) -> None:
    assert whole(diagnose(Calling().pool().latency(SLOW).deployed("checkout", minutes))) == SLOW_BY_ITSELF


@pytest.mark.parametrize(("minutes", "verdict"), [(CALM_MINUTES - 3, "change.deployment"), (CALM_MINUTES + 3, RAN_OUT)])
def test_without_anything_else_a_deployment_is_blamed_only_where_no_long_calm_followed(
    minutes: int, verdict: str
) -> None:
    """The order of time alone connects nothing: the pool may have filled for any reason."""
    found = diagnose(Calling().pool().deployed("checkout", minutes))

    assert whole(found)[1] == verdict
    asks = [one for one in found.next_checks if "deployment of checkout" in one]
    assert bool(asks) is (verdict == RAN_OUT)


def test_a_deployment_that_is_still_going_on_is_followed_by_no_calm() -> None:
    record = {"finished": epoch_ms(at(-13))}

    assert whole(diagnose(Calling().pool().deployed("checkout", 25, **record))) == OWN


def test_where_deployments_come_so_often_that_one_is_always_near_none_is_blamed() -> None:
    case = Calling().pool()
    records = [
        deployment(f"shop/checkout deployment {n}", at(-14 - 10 * n)).but(title=f"Release {n}") for n in range(10)
    ]
    often, once = diagnose(case.changed(*records)), diagnose(Calling().pool().changed(records[0]))

    assert (whole(often)[1], whole(once)[1]) == (RAN_OUT, "change.deployment")


@pytest.mark.parametrize(
    ("environment", "category"),
    [("production", "change.deployment"), ("", "change.deployment"), ("staging", RAN_OUT), ("review/7-x", RAN_OUT)],
)
def test_a_deployment_to_another_environment_is_not_blamed(environment: str, category: str) -> None:
    assert whole(diagnose(Calling().pool().deployed("checkout", 4, environment=environment)))[1] == category


def test_a_drift_before_a_deployment_does_not_clear_it() -> None:
    """CPU was a little up long before, and much after: what strains is the much."""
    case = Calling().deployed("checkout", 4)
    case.names("process_cpu_seconds_total")
    case.ask(CPU, *([2.3, 2.31, 2.29] * 6)[:16], *[2.6] * 11, *[5.0] * 33)

    assert whole(diagnose(case)) == OWN


def test_what_the_alert_measures_is_no_second_sign_of_it() -> None:
    """Of an alert about CPU, that CPU rose is the symptom: a deployment before it is connected by nothing else."""
    case = AboutCpu().deployed("checkout", 4)
    case.names("process_cpu_seconds_total")
    case.ask(CPU, *([2.3, 2.31, 2.29] * 10), *[5.0] * 30)

    assert diagnose(case).verdict is Verdict.CONTRIBUTING_ONLY


def test_its_own_deployment_minutes_before_is_blamed_for_what_it_calls_too() -> None:
    assert whole(diagnose(Calling().pool().latency(SLOW).deployed("checkout", 5)))[1:] == OWN[1:]


@pytest.mark.parametrize("worst", [0.3, 0.45, 0.1])
def test_what_it_calls_is_not_blamed_for_being_a_little_slower_or_faster(worst: float) -> None:
    found = diagnose(Calling().pool().latency(worst).deployed("payments", 4))

    assert whole(found)[1] == "resource.connection_pool_exhausted"


def test_what_became_worse_after_the_symptom_did_not_bring_it() -> None:
    found = diagnose(Calling().pool().latency(SLOW, minutes_before=-6).deployed("payments", 4))

    assert whole(found)[1] == "resource.connection_pool_exhausted"


@pytest.mark.parametrize(("errors", "is_failing"), [(30.0, True), (0.5, False)])
def test_what_it_calls_fails_when_a_share_of_its_answers_are_errors(errors: float, is_failing: bool) -> None:
    case = Calling().pool().theirs("http_requests_total")
    case.ask(ANSWERED, *[100.0, 101.0, 99.0] * 20)
    case.ask(FAILED, *[0.1, 0.11, 0.09] * 9, 0.1, *[errors] * 32)

    assert (whole(diagnose(case))[1] == "dependency.failing") is is_failing


# ---- traffic -------------------------------------------------------------------------------------------


def test_a_surge_that_fills_the_pool_is_the_cause_and_no_deployment_is_blamed() -> None:
    found = diagnose(Calling().pool().requests(2.5).changed())

    assert whole(found) == (Verdict.CAUSE_FOUND, "traffic.surge", "service/shop/checkout")
    assert "Nothing in the window matched: deployments" in [claim.text for claim in found.validated_claims]


def test_a_rise_that_does_not_fill_the_pool_is_not_the_cause() -> None:
    """Eleven of twenty connections, times 1.6, are 17.6: something holds them longer."""
    assert whole(diagnose(Calling().pool().requests(1.6)))[1] == "resource.connection_pool_exhausted"


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, Verdict.CONTRIBUTING_ONLY), (2.5, Verdict.CAUSE_FOUND)], ids=["busy day", "surge"]
)
def test_a_busy_day_is_no_surge(factor: float, verdict: Verdict) -> None:
    case = Calling()
    case.names("process_cpu_seconds_total", "http_requests_total")
    case.ask(CPU, *([2.3, 2.31, 2.29] * 10)[:29], *[5.0] * 31)

    assert diagnose(case.requests(factor)).verdict is verdict


def test_a_surge_makes_what_is_called_slower_too_and_comes_first() -> None:
    found = diagnose(Calling().pool().requests(2.5, minutes_before=3).latency(SLOW, minutes_before=1))

    assert whole(found)[1] == "traffic.surge"


@pytest.mark.parametrize("service", ["checkout", "payments"])
def test_a_surge_that_fills_the_pool_is_blamed_though_a_deployment_was_minutes_before_it(service: str) -> None:
    found = diagnose(Calling().pool().requests(2.5).latency(SLOW, minutes_before=1).deployed(service, 5))

    assert whole(found) == (Verdict.CAUSE_FOUND, "traffic.surge", "service/shop/checkout")


def test_traffic_that_rises_after_the_pool_filled_is_callers_that_try_again() -> None:
    assert whole(diagnose(Calling().pool().requests(2.5, minutes_before=-2)))[1] == RAN_OUT


def test_more_of_a_resource_than_the_traffic_asks_for_is_not_explained_by_it() -> None:
    case = Calling().requests(1.6)
    case.names("process_cpu_seconds_total", "http_requests_total")
    case.ask(CPU, *([2.3, 2.31, 2.29] * 10)[:29], *[9.0] * 31)

    assert diagnose(case).verdict is Verdict.CONTRIBUTING_ONLY


# ---- what strains nothing ------------------------------------------------------------------------------


@pytest.mark.parametrize(("worst", "verdict"), [(14.0, Verdict.CONTRIBUTING_ONLY), (18.0, Verdict.CAUSE_FOUND)])
def test_more_in_use_with_room_below_a_known_limit_is_no_strain(worst: float, verdict: Verdict) -> None:
    case = Calling().deployed("checkout", 4)
    case.names("db_pool_connections_in_use", "db_pool_connections_max")
    case.ask(USED, *([8.0, 8.1, 7.9] * 10)[:29], *[worst] * 31)
    case.ask(LIMIT, *[20.0] * 60)

    assert diagnose(case).verdict is verdict
    assert (judged(case, "resource").judgement == "supported") is (verdict is Verdict.CAUSE_FOUND)


@pytest.mark.parametrize(("worst", "verdict"), [(2.7, Verdict.CONTRIBUTING_ONLY), (5.0, Verdict.CAUSE_FOUND)])
def test_a_little_more_of_a_resource_without_a_known_limit_is_no_strain(worst: float, verdict: Verdict) -> None:
    case = Calling().deployed("checkout", 4)
    case.names("process_cpu_seconds_total")
    case.ask(CPU, *([2.3, 2.31, 2.29] * 10)[:29], *[worst] * 31)

    assert diagnose(case).verdict is verdict


def test_a_limit_that_was_raised_is_no_strain_and_one_that_was_lowered_is() -> None:
    verdicts = []
    for limit in (40.0, 12.0):
        case = Calling().deployed("checkout", 4)
        case.names("db_pool_connections_in_use", "db_pool_connections_max")
        case.ask(USED, *[8.0, 8.1, 7.9] * 20)
        case.ask(LIMIT, *[20.0] * 27, *[limit] * 33)
        verdicts.append(diagnose(case).verdict)

    assert verdicts == [Verdict.CONTRIBUTING_ONLY, Verdict.CAUSE_FOUND]


# ---- changes and lines that are of no account ----------------------------------------------------------


def test_what_was_only_merged_is_not_blamed() -> None:
    merged = deployment("shop/checkout!7", at(-10)).but(change="merge_request", service="checkout", status="merged")

    assert whole(diagnose(Calling().pool().changed(merged)))[1] == "resource.connection_pool_exhausted"


@pytest.mark.parametrize(("minutes", "verdict"), [(2, Verdict.CAUSE_FOUND), (40, Verdict.CONTRIBUTING_ONLY)])
def test_lines_that_were_new_long_before_the_trouble_are_not_of_it(minutes: int, verdict: Verdict) -> None:
    case = Calling().deployed("checkout", 12)
    lines = logs(*[(at(-10 - minutes), "panic: nil pointer in cart")] * 3, service="checkout")
    case.shelf.add(lines, source="loki", tool="loki_query", expression="{}")

    assert diagnose(case).verdict is verdict


# ---- the logs ------------------------------------------------------------------------------------------


def test_no_line_at_all_is_a_gap_and_the_report_names_the_logs() -> None:
    found = diagnose(Calling().logged())

    assert found.verdict is Verdict.INCONCLUSIVE
    said = "the logs of checkout are missing: there is not one line since 09:30 UTC"
    assert said in found.missing_evidence
    assert f"Connect or repair what is missing: {said}." in found.next_checks


def test_a_log_that_ends_before_the_trouble_is_a_gap() -> None:
    found = diagnose(Calling().logged(*[40.0] * 9))

    assert any("the last line is of 09:38 UTC, before the trouble" in one for one in found.missing_evidence)


def test_a_log_that_goes_on_is_no_gap() -> None:
    found = diagnose(Calling().logged(*[40.0] * 9, 0.0, 0.0, *[40.0] * 20))

    assert not any("missing" in one for one in found.missing_evidence)


# ---- hypotheses ----------------------------------------------------------------------------------------


def judged(case: Calling, category: str) -> Judged:
    found = appraise(case.view)
    assert found is not None
    return judge(Hypothesis(name="h1", text="t", refuted_by="r", category=category), found)


@pytest.mark.parametrize(
    ("case", "judgement"),
    [
        (Calling().pool().latency(SLOW), "supported"),
        (Calling().pool().latency(0.3), "refuted"),
        (Calling().pool(), "open"),
    ],
)
def test_a_dependency_is_judged_by_whether_its_callers_feel_it(case: Calling, judgement: str) -> None:
    assert judged(case, "dependency").judgement == judgement


def test_its_own_change_is_left_open_where_something_else_came_closer() -> None:
    case = Calling().pool().latency(SLOW).deployed("checkout", 35)

    assert judged(case, "change").judgement == "open"
    assert judged(Calling().pool().deployed("checkout", 5), "change").judgement == "supported"


def test_a_change_of_what_it_calls_that_is_blamed_supports_that_a_change_did_it() -> None:
    case = Calling().pool().latency(SLOW).deployed("payments", 4)

    assert judged(case, "change").judgement == "supported"


# ---- what it asks --------------------------------------------------------------------------------------


def asked(case: Calling) -> list[tuple[str, str]]:
    found = [(call.name, json.loads(call.arguments)) for call in next_calls(case.view)]
    return [(name, arguments.get("expression") or arguments.get("selector") or "") for name, arguments in found]


def test_it_asks_what_there_is_of_what_it_calls_and_whether_the_service_logs_at_all() -> None:
    found = asked(Calling())

    assert ("prometheus_series", THEIRS) in found
    assert ("loki_query", COUNT) in found
    assert ("gitlab_deployments", "") in found


def test_then_it_asks_how_that_answered_and_no_more_than_its_callers_would_feel() -> None:
    case = Calling().theirs("request_seconds_bucket", "http_requests_total", "build_number", "process_restarts_total")

    found = [expression for name, expression in asked(case) if name == RANGE]

    assert {LATE, ANSWERED, FAILED} <= set(found)
    assert not any("build_number" in one or "restarts" in one for one in found)


def test_a_log_source_that_has_failed_is_not_asked_again() -> None:
    case = Calling()
    item = case.shelf.add(logs(), source="loki", tool="loki_query", expression="{}")
    down = failure(FailureCode.PROVIDER_ERROR, "HTTP 503")
    case.shelf.asked[-1] = case.shelf.asked[-1].but(failure=down, evidence=())
    case.shelf.items.remove(item)

    assert "loki_query" not in {name for name, _ in asked(case)}
