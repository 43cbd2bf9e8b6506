import json
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.connectors.prometheus import (
    PrometheusConfig,
    create_prometheus_connector,
)
from inquest.connectors.prometheus.asking import label_in_path
from inquest.connectors.prometheus.shapes import vector
from inquest.connectors.shared.reading import Unreadable
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Error, Ok, Partial, QueryBudget
from inquest.domain.signals import (
    FiringAlerts,
    Matrix,
    Names,
    Other,
    Rules,
    SeriesNames,
    SignalContent,
    Vector,
)
from inquest.domain.value import Json, epoch_ms, from_epoch_ms
from inquest.domain.window import Window
from inquest.ports import InvalidQuery
from inquest.wire.endpoint import Endpoint
from inquest.wire.execute import execute_read
from inquest.wire.transport import Transport
from tests.connectors.harness import CONTEXT, CURSOR_KEY, WINDOW, StandingClock
from tests.connectors.prometheus_reads import connected, content, failed, prepared, read
from tests.fakes.loopback import Act, Reply
from tests.fakes.prometheus import error, recorded, serve, success

# ---- what Prometheus 2.42 really answers ---------------------------------------------------------------


async def test_a_recorded_instant_answer_has_its_time_and_value() -> None:
    found = content(await read(recorded("query_ok"), "query", expression="up"))

    assert isinstance(found, Vector)
    (sample,) = found.samples
    assert (sample.labels["job"], sample.time, sample.value) == ("checkout", 1796051817016, 1.0)


async def test_a_recorded_range_answer_is_a_matrix_in_milliseconds() -> None:
    found = content(await read(recorded("range_ok"), "query_range", expression="up"))

    assert isinstance(found, Matrix)
    (series,) = found.series
    assert found.step_ms == 29_000  # two hours in at most 250 points
    assert (series.points[0], series.points[8], len(series.points)) == ((1796051517000, 1.0), (1796051637000, 0.0), 21)


async def test_no_data_is_an_empty_answer_and_not_a_failure() -> None:
    reading = await read(recorded("query_no_data"), "query", expression="nosuch")
    assert isinstance(reading.outcome, Ok)
    assert content(reading) == Vector(samples=())


async def test_recorded_names_rules_series_and_metadata_are_read() -> None:
    answers = {
        "labels": recorded("labels_ok"), "values": recorded("label_values"), "series": recorded("series_ok"),
        "metadata": recorded("metadata"), "rules": recorded("rules_ok"), "alerts": recorded("alerts_ok"),
    }  # fmt: skip

    async def at(operation: str, **arguments: Json) -> SignalContent:
        return content(await read(lambda seen: serve(answers, seen), operation, None, **arguments))

    assert await at("labels", search="SHARD") == Names(names=("shard",))
    assert await at("labels", label="alertname") == Names(names=("CheckoutErrorRateHigh", "ShardReplicationLag"))
    assert await at("metadata", search="error") == Names(
        names=("checkout_error_ratio",), about={"checkout_error_ratio": "gauge"}
    )
    assert await at("alerts") == FiringAlerts(alerts=())
    series = await at("series", selector="checkout_error_ratio")
    assert isinstance(series, SeriesNames)
    assert {labels["__name__"] for labels in series.series} == {"checkout_error_ratio"}
    rules = await at("rules", search="errorrate")
    assert isinstance(rules, Rules)
    (rule,) = rules.rules
    assert (rule.name, rule.expression, rule.duration_s) == (
        "CheckoutErrorRateHigh",
        "checkout_error_ratio > 0.05",
        2.0,
    )


@pytest.mark.parametrize(
    ("act", "code", "hint"),
    [
        (recorded("query_parse_error"), FailureCode.INVALID_QUERY, "expression: the source cannot parse it"),
        (recorded("query_type_error"), FailureCode.INVALID_QUERY, "expression: the source cannot parse it"),
        (recorded("range_11000"), FailureCode.INVALID_QUERY, "expression: too many points; use a longer step_seconds"),
        (recorded("range_bad_time"), FailureCode.INVALID_QUERY, "expression: the source refuses it"),
        (recorded("query_exec_error"), FailureCode.INVALID_QUERY, "expression: match labels are not unique on one side; aggregate or use group_left"),
        (recorded("series_nomatch_err"), FailureCode.INVALID_QUERY, "selector: is needed"),
        (recorded("admin_disabled"), FailureCode.PROVIDER_ERROR, "errorType unavailable"),
        (recorded("notfound"), FailureCode.SCHEMA_DRIFT, "HTTP 404"),
        (error(503, "timeout", "query timed out in expression evaluation"), FailureCode.TIMEOUT, "errorType timeout"),
        (error(503, "canceled", "x"), FailureCode.CANCELLED, "errorType canceled"),
        (error(500, "internal", "expanding series: connection refused"), FailureCode.PROVIDER_ERROR, "errorType internal"),
        (error(422, "execution", "query processing would load too many samples into memory in query execution"), FailureCode.BUDGET_EXHAUSTED, "the source refuses the query as too large; narrow it"),
        (error(422, "422", 'cannot parse "sum("'), FailureCode.INVALID_QUERY, "expression: the source refuses it"),
        (error(422, "422", "error when executing: too many points for the given step=1, start=1 and end=9: 86401; cannot exceed 30000"), FailureCode.INVALID_QUERY, "expression: too many points; use a longer step_seconds"),
        (error(422, "422", "the number of matching timeseries exceeds 300000; increase -search.maxUniqueTimeseries"), FailureCode.BUDGET_EXHAUSTED, "the source refuses the query as too large; narrow it"),
        (error(503, "503", "x"), FailureCode.PROVIDER_ERROR, "HTTP 503"),
        (error(200, "brand_new", "x"), FailureCode.PROVIDER_ERROR, "the source reports an error of an unknown type"),
        (error(401, "bad_data", "no org id"), FailureCode.CONTEXT_MISMATCH, "tenant: the source wants a tenant header"),
        (Reply(200, b'{"status":"success"}'), FailureCode.SCHEMA_DRIFT, "the answer has no status and data"),
        (Reply(200, b"[]"), FailureCode.MALFORMED_RESULT, "the answer is not an object"),
        (success({"resultType": "vector", "result": [{"metric": {}, "value": [1, "12abc"]}]}), FailureCode.MALFORMED_RESULT, "a value of the answer is no number in text"),
        (success({"resultType": "vector", "result": [{"metric": {}, "value": [1, 5]}]}), FailureCode.MALFORMED_RESULT, "a value of the answer is no number in text"),
        (success({"resultType": "vector", "result": [{"metric": {}, "value": ["1", "5"]}]}), FailureCode.MALFORMED_RESULT, "a time of the answer is no number"),
        (success({"resultType": "vector", "result": [{"metric": {"a": 1}, "value": [1, "5"]}]}), FailureCode.SCHEMA_DRIFT, "data.result.metric: not as documented"),
    ],
)  # fmt: skip
async def test_an_error_of_the_source_is_told_in_our_words(act: Act, code: FailureCode, hint: str) -> None:
    assert failed(await read(act, "query", expression="up")) == (code, hint)


async def test_a_limit_says_how_long_to_wait() -> None:
    limited = Reply(
        429,
        b'{"status":"error","errorType":"too_many_requests","error":"x"}',
        {"Content-Type": "application/json", "Retry-After": "3"},
    )
    reading = await read(limited, "query", expression="up")
    assert isinstance(reading.outcome, Error)
    assert reading.outcome.error.retry_after_ms == 3000


# ---- values --------------------------------------------------------------------------------------------


async def test_samples_that_are_not_finite_are_counted_and_null() -> None:
    values: Json = [[1767225600, "NaN"], [1767225660, "+Inf"], [1767225720, "0.5"], [1767225780, "-Inf"]]
    found = content(
        await read(
            success({"resultType": "matrix", "result": [{"metric": {}, "values": values}]}),
            "query_range",
            expression="up",
        )
    )

    assert isinstance(found, Matrix)
    assert found.series[0].points == (
        (1767225600000, None),
        (1767225660000, None),
        (1767225720000, 0.5),
        (1767225780000, None),
    )
    assert found.series[0].non_finite == 3


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 4_000_000_000_000))
def test_a_sample_is_read_exactly(value: float, ms: int) -> None:
    found, _ = vector({"resultType": "scalar", "result": [ms / 1000, repr(value)]}, ())
    assert isinstance(found, Vector)
    assert (found.samples[0].value, found.samples[0].time) == (value, ms)


@pytest.mark.parametrize("said", ["1_000", " 1", "infinity", "nan1", "0x1", "", "1,5", "\u0661"])
def test_what_go_would_not_write_is_no_number(said: str) -> None:
    with pytest.raises(Unreadable):
        vector({"resultType": "scalar", "result": [1, said]}, ())


async def test_scalars_and_texts_have_a_shape_too() -> None:
    scalar = content(await read(success({"resultType": "scalar", "result": [1.5, "2"]}), "query", expression="1 + 1"))
    text = content(await read(success({"resultType": "string", "result": [1.5, "so"]}), "query", expression='"so"'))
    assert isinstance(scalar, Vector)
    assert (scalar.samples[0].labels, scalar.samples[0].value, scalar.samples[0].time) == ({}, 2.0, 1500)
    assert text == Other(value="so")


async def test_native_histograms_are_left_out_and_said() -> None:
    row: Json = {"metric": {"a": "b"}, "histogram": [1, {"count": "2", "sum": "3", "buckets": []}]}
    plain: Json = {"metric": {"a": "c"}, "value": [1, "1"]}
    reading = await read(success({"resultType": "vector", "result": [row, plain]}), "query", expression="up")

    assert isinstance(reading.outcome, Partial)
    assert reading.outcome.error.code is FailureCode.SCHEMA_DRIFT
    found = content(reading)
    assert isinstance(found, Vector)
    assert [sample.labels for sample in found.samples] == [{"a": "c"}]


async def test_warnings_make_it_partial_and_notes_about_the_query_do_not() -> None:
    data: Json = {"resultType": "vector", "result": []}
    note = "PromQL info: metric might not be a counter"
    noted = await read(success(data, infos=[note]), "query", expression="up")
    warned = await read(success(data, warnings=["store gateway 2: away"], infos=[note]), "query", expression="up")

    assert isinstance(noted.outcome, Ok)
    assert content(noted) == Vector(samples=(), warnings=(note,))
    assert isinstance(warned.outcome, Partial)
    assert warned.outcome.error.hint == "the source warns that its answer may not be whole (1 warnings)"
    assert content(warned) == Vector(samples=(), warnings=("store gateway 2: away", note))


# ---- requests ------------------------------------------------------------------------------------------


async def test_a_range_query_asks_the_half_open_window_at_a_step_that_gives_250_points() -> None:
    async with connected(recorded("range_ok")) as (fake, connector):
        await execute_read(connector, CONTEXT, prepared(connector, "query_range", {"expression": "up"}))

    (seen,) = fake.seen
    assert (seen.method, seen.path) == ("GET", "/api/v1/query_range")
    assert dict(seen.params) | {"timeout": ""} == {
        "query": "up", "start": f"{epoch_ms(WINDOW.start) / 1000:.3f}", "end": f"{epoch_ms(WINDOW.end) / 1000 - 0.001:.3f}",
        "step": "29", "timeout": "",
    }  # fmt: skip


@given(st.integers(1_000, 31 * 86_400_000))
def test_a_default_step_gives_at_most_250_points_and_no_finer_than_the_scrape(length_ms: int) -> None:
    config = PrometheusConfig(name="prom", context=CONTEXT, url="http://x")
    connector = create_prometheus_connector(
        config, Transport(Endpoint(base_url="http://127.0.0.1:1")), clock=StandingClock(), cursor_key=CURSOR_KEY
    )
    start = from_epoch_ms(1_772_000_000_000)
    query = prepared(
        connector,
        "query_range",
        {"expression": "up"},
        Window(start=start, end=start + timedelta(milliseconds=length_ms)),
    )
    step = query.arguments["step_seconds"]

    assert isinstance(step, int)
    assert step >= 15
    assert -(-length_ms // (step * 1000)) <= 250


async def test_a_step_that_gives_more_points_is_refused() -> None:
    async with connected(recorded("range_ok")) as (_, connector):
        assert (
            prepared(connector, "query_range", {"expression": "up", "step_seconds": 29}).arguments["step_seconds"] == 29
        )
        with pytest.raises(InvalidQuery, match="at least 29"):
            prepared(connector, "query_range", {"expression": "up", "step_seconds": 28})


async def test_a_long_expression_is_posted() -> None:
    expression = (
        'up{a=~"' + "|".join(f"pod-{number:04}" for number in range(100)) + '"} or ' + 'up{b="' + "x" * 1500 + '"}'
    )
    nothing = success({"resultType": "matrix", "result": []})
    async with connected(nothing) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, "query_range", {"expression": expression}))

    assert isinstance(reading.outcome, Ok)
    assert (fake.seen[0].method, fake.seen[0].param("query")) == ("POST", expression)


@pytest.mark.parametrize("operation", ["query", "query_range"])
@pytest.mark.parametrize("expression", ["up[5m]", "rate(up[5m])[1h:]"])
async def test_raw_ranges_are_refused(operation: str, expression: str) -> None:
    async with connected(recorded("range_ok")) as (_, connector):
        with pytest.raises(InvalidQuery, match="range of raw samples"):
            prepared(connector, operation, {"expression": expression})


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("job", "job"),
        ("a.b", "U__a_2e_b"),
        ("a_b.c", "U__a__b_2e_c"),
        ("größe", "U__gr_f6__df_e"),
        ("../x", "U___2e__2e__2f_x"),
    ],
)
def test_a_label_name_in_a_path_is_legacy_or_escaped(name: str, written: str) -> None:
    assert label_in_path(name) == written


# ---- links ---------------------------------------------------------------------------------------------


async def test_a_link_opens_the_graph_at_the_window() -> None:
    async with connected(success([])) as (_, connector):
        graph = connector.link(prepared(connector, "query_range", {"expression": 'up{a="b&c"}'}))
        table = connector.link(prepared(connector, "query", {"expression": "up"}))
        rules = connector.link(prepared(connector, "rules", {}))
        names = connector.link(prepared(connector, "labels", {}))

    assert urlsplit(graph)[:3] == ("https", "prom.example.org", "/graph")
    assert parse_qs(urlsplit(graph).query) == {
        "g0.expr": ['up{a="b&c"}'], "g0.tab": ["0"], "g0.range_input": ["2h"], "g0.end_input": ["2026-03-01 12:00:00"],
    }  # fmt: skip
    assert parse_qs(urlsplit(table).query)["g0.moment_input"] == ["2026-03-01 12:00:00"]
    assert (rules, names) == ("https://prom.example.org/rules", "")


async def test_a_budget_of_items_keeps_the_first_series() -> None:
    result: Json = [{"metric": {"n": str(number)}, "value": [1, "1"]} for number in range(10)]
    async with connected(success({"resultType": "vector", "result": result})) as (_, connector):
        query = prepared(connector, "query", {"expression": "up"}).but(budget=QueryBudget(max_items=3))
        reading = await execute_read(connector, CONTEXT, query)

    assert isinstance(reading.outcome, Ok)
    (one,) = reading.outcome.observations
    assert (one.truncated, one.truncation.original_items, one.truncation.kept_items) == (True, 10, 3)
    body = one.content.body
    assert isinstance(body, dict)
    assert json.dumps(body["samples"]).count('"n"') == 3
