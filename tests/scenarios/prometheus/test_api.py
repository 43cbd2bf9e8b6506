"""The API against answers captured from a real Prometheus 2.42 (tests/data/prometheus): the same bytes."""

from __future__ import annotations

import json
from array import array
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.http import Reply
from inquest.scenarios.pack.format import MetricMetadata
from inquest.scenarios.pack.rules import AlertingRule, RuleGroup
from inquest.scenarios.prometheus.api import PrometheusApi
from inquest.scenarios.promql.samples import Samples, Series, labels_of
from tests.scenarios.builders import NOW, NOW_S, Monotonic, gauge, request

DATA = Path(__file__).parents[2] / "data" / "prometheus"
CAPTURED_AT = datetime(2026, 11, 30, 15, 16, 57, tzinfo=UTC)


def captured(name: str) -> bytes:
    return (DATA / f"{name}.json").read_bytes()


def captured_status(name: str) -> int:
    return int((DATA / f"{name}.headers").read_text().split()[1])


def captured_type(name: str) -> str:
    lines = (DATA / f"{name}.headers").read_text().splitlines()
    return next(line.partition(": ")[2] for line in lines if line.lower().startswith("content-type"))


def api(
    *series: Series,
    now: datetime = NOW,
    groups: tuple[RuleGroup, ...] = (),
    metadata: dict[str, MetricMetadata] | None = None,
    monotonic: Monotonic | None = None,
) -> PrometheusApi:
    return PrometheusApi(
        Samples(series),
        metadata=metadata or {},
        groups=groups,
        anchor=now,
        clock=RecordedClock(now, monotonic or Monotonic()),
    )


def result(reply: Reply) -> Any:  # noqa: ANN401 - JSON of many shapes
    answer = json.loads(reply.body)
    assert (reply.status, answer["status"]) == (200, "success"), answer
    return answer["data"]


def up_as_captured() -> Series:
    points = json.loads(captured("range_ok"))["data"]["result"][0]["values"]
    labels = labels_of({"__name__": "up", "instance": "127.0.0.1:19095", "job": "checkout"})
    return Series(
        labels, array("q", [at * 1000 for at, _ in points]), array("d", [float(value) for _, value in points])
    )


@pytest.mark.parametrize(
    ("name", "path", "parameters"),
    [
        ("query_parse_error", "query", [("query", "sum(rate(x")]),
        ("query_type_error", "query", [("query", "rate(up)")]),
        ("query_no_data", "query", [("query", "nosuch")]),
        ("range_11000", "query_range", [("query", "up"), ("start", "0"), ("end", "11001"), ("step", "1")]),
        ("range_bad_time", "query_range", [("query", "up"), ("start", "yesterday"), ("end", "1"), ("step", "1")]),
        ("range_end_before_start", "query_range", [("query", "up"), ("start", "2"), ("end", "1"), ("step", "1")]),
        ("series_nomatch_err", "series", []),
        ("alerts_ok", "alerts", []),
        ("notfound", "nosuch", []),
    ],
)
def test_a_refusal_or_an_empty_answer_has_the_captured_bytes(
    name: str, path: str, parameters: list[tuple[str, str]]
) -> None:
    reply = api().answer(request(f"/api/v1/{path}", *parameters))

    assert reply.body == captured(name)
    assert (reply.status, reply.content_type) == (captured_status(name), captured_type(name))


def test_an_instant_query_has_the_captured_bytes() -> None:
    asked = request("/api/v1/query", ("query", "up"), ("time", "1796051817.016"))
    assert api(up_as_captured(), now=CAPTURED_AT).answer(asked).body == captured("query_ok")


def test_a_range_query_has_the_captured_bytes() -> None:
    asked = request(
        "/api/v1/query_range", ("query", "up"), ("start", "1796051517"), ("end", "1796051817"), ("step", "15")
    )
    assert api(up_as_captured(), now=CAPTURED_AT).answer(asked).body == captured("range_ok")


def test_an_ambiguous_pairing_has_the_captured_bytes() -> None:
    where = {"instance": "127.0.0.1:19095", "job": "checkout", "service": "orders-db", "shard": "00"}
    lagging = [gauge("shard_lag_seconds", {0: 1.0}, **where, target=target) for target in ("big", "bigmax")]

    reply = api(*lagging).answer(request("/api/v1/query", ("query", "shard_lag_seconds - on () shard_lag_seconds")))

    assert (reply.status, reply.body) == (422, captured("query_exec_error"))


def test_series_labels_and_values_have_the_captured_bytes() -> None:
    rows = json.loads(captured("series_ok"))["data"]
    recorded = [gauge(row.pop("__name__"), {0: 1.0}, **row) for row in rows]
    asked = request("/api/v1/series", ("match[]", "checkout_error_ratio"))
    assert api(*recorded).answer(asked).body == captured("series_ok")

    names = {name: "x" for name in json.loads(captured("labels_ok"))["data"] if name != "__name__"}
    assert api(gauge("m", {0: 1.0}, **names)).answer(request("/api/v1/labels")).body == captured("labels_ok")

    alerts = [gauge("ALERTS", {0: 1.0}, alertname=name) for name in json.loads(captured("label_values"))["data"]]
    values = api(*alerts).answer(request("/api/v1/label/alertname/values"))
    assert values.body == captured("label_values")


def test_metadata_has_the_captured_bytes() -> None:
    known = {"checkout_error_ratio": MetricMetadata("gauge", "", "")}
    assert api(metadata=known).answer(request("/api/v1/metadata")).body == captured("metadata")


def test_build_information_has_the_captured_keys() -> None:
    assert set(result(api().answer(request("/api/v1/status/buildinfo")))) == set(
        json.loads(captured("buildinfo"))["data"]
    )


def test_rules_have_the_captured_keys_in_their_order() -> None:
    group = json.loads(captured("rules_ok"))["data"]["groups"][0]
    ours = result(api(groups=(ERRORS,)).answer(request("/api/v1/rules")))["groups"][0]

    assert list(ours) == list(group)
    assert list(ours["rules"][0]) == list(group["rules"][0])


RULE = AlertingRule(
    alert="ErrorsHigh",
    expr="errors > 5",
    for_ms=60_000,
    labels={"severity": "critical"},
    annotations={"summary": "{{ $labels.service }} has {{ $value }} errors ({{ $value | humanizePercentage }})"},
)
ERRORS = RuleGroup(name="g", interval_ms=15_000, rules=(RULE,))


def errors_since(second: int) -> Series:
    return gauge("errors", {at: 9.0 if at >= second else 1.0 for at in range(-600, 601, 15)}, service="checkout")


@pytest.mark.parametrize(
    ("began", "state"),
    [(-60, "firing"), (-45, "pending"), (15, "inactive")],
)
def test_a_rule_is_in_the_state_that_the_samples_put_it_in(began: int, state: str) -> None:
    server = api(errors_since(began), groups=(ERRORS,))
    rule = result(server.answer(request("/api/v1/rules")))["groups"][0]["rules"][0]

    assert (rule["state"], rule["query"], rule["duration"]) == (state, "errors > 5", 60)
    assert result(server.answer(request("/api/v1/alerts")))["alerts"] == rule["alerts"]


def test_an_alert_whose_condition_ended_is_gone() -> None:
    ended = gauge("errors", {at: 9.0 if -300 <= at < -60 else 1.0 for at in range(-600, 1, 15)})
    rule = result(api(ended, groups=(ERRORS,)).answer(request("/api/v1/rules")))["groups"][0]["rules"][0]
    assert (rule["state"], rule["alerts"]) == ("inactive", [])


def test_an_alert_is_active_since_its_condition_began_for_the_last_time() -> None:
    twice = gauge("errors", {at: 9.0 if at < -300 or at >= -30 else 1.0 for at in range(-600, 1, 15)})
    (alert,) = result(api(twice, groups=(ERRORS,)).answer(request("/api/v1/alerts")))["alerts"]
    assert (alert["state"], alert["activeAt"]) == ("pending", "2026-03-01T11:59:30.000Z")


def test_a_firing_alert_shows_since_when_it_is_active_and_its_filled_in_annotations() -> None:
    (alert,) = result(api(errors_since(-90), groups=(ERRORS,)).answer(request("/api/v1/alerts")))["alerts"]

    assert alert == {
        "labels": {"alertname": "ErrorsHigh", "service": "checkout", "severity": "critical"},
        "annotations": {"summary": "checkout has 9 errors (900%)"},
        "state": "firing",
        "activeAt": "2026-03-01T11:58:30.000Z",
        "value": "9e+00",
    }


def test_nothing_later_than_the_clock_is_shown_until_the_clock_reaches_it() -> None:
    monotonic = Monotonic()
    future = gauge("late", {60: 1.0})
    server = api(gauge("g", {0: 1.0, 60: 2.0}), future, monotonic=monotonic)

    def seen() -> tuple[Any, ...]:
        ahead = request("/api/v1/query", ("query", "g"), ("time", str(NOW_S + 120)))
        names = request("/api/v1/label/__name__/values")
        return result(server.answer(ahead))["result"][0]["value"][1], result(server.answer(names))

    assert seen() == ("1", ["g"])
    monotonic.seconds += 61
    assert seen() == ("2", ["g", "late"])


def test_a_query_without_a_time_is_as_of_the_clock() -> None:
    reply = api(gauge("g", {0: 1.0}), now=NOW + timedelta(milliseconds=250)).answer(
        request("/api/v1/query", ("query", "g"))
    )
    assert result(reply)["result"][0]["value"] == [NOW_S + 0.25, "1"]


@pytest.mark.parametrize(
    ("expression", "named"),
    [("topk(3, x)", "topk"), ("x[5m:1m]", "subqueries"), ("absent(x)", "absent")],
)
def test_promql_outside_the_subset_is_a_422_that_names_it(expression: str, named: str) -> None:
    reply = api().answer(request("/api/v1/query", ("query", expression)))
    answer = json.loads(reply.body)

    assert (reply.status, answer["status"], answer["errorType"]) == (422, "error", "execution")
    assert named in answer["error"]


@pytest.mark.parametrize(
    "parameters",
    [
        [("query", "(" * 100_000)],
        [("query", "-" * 100_000 + "1")],
        [("query", "1" + "+1" * 4000)],
        [("query", 'x{a=~"' + "(a+)+" * 500 + '"}')],
        [("query", "x"), ("time", "9" * 5000)],
        [("query", "x"), ("time", "1e308")],
        [("query", "x[" + "9" * 400 + "y]")],
        [("query", "x offset " + "9" * 30 + "y")],
        [("query", "x"), ("timeout", "9" * 5000 + "h")],
        [("query", "\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace"))],
        [("query", "\x00")],
    ],
)
def test_a_hostile_query_is_refused_or_empty_and_ends(parameters: list[tuple[str, str]]) -> None:
    reply = api(gauge("g", {0: 1.0}, a="a" * 200)).answer(request("/api/v1/query", *parameters))
    assert reply.status in (200, 400, 422)


def test_a_catastrophic_pattern_costs_time_linear_in_the_label() -> None:
    server = api(gauge("g", {0: 1.0}, a="a" * 5000 + "!"))
    reply = server.answer(request("/api/v1/query", ("query", 'g{a=~"(a+)+"}')))
    assert result(reply)["result"] == []


def test_a_range_over_too_many_samples_is_refused_in_prometheus_words() -> None:
    many = [gauge("g", dict.fromkeys(range(-900, 0), 1.0), n=str(number)) for number in range(20)]
    parameters = [("start", str(NOW_S - 900)), ("end", str(NOW_S)), ("step", "1")]
    reply = api(*many).answer(request("/api/v1/query_range", ("query", "sum_over_time(g[1h])"), *parameters))

    assert reply.status == 422
    assert "too many samples" in json.loads(reply.body)["error"]
