import json
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import ValidationError

from inquest.connectors.loki import LokiConfig
from inquest.connectors.loki.config import GUARDED_FROM, MAX_SCAN_BYTES
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Ok, Partial, QueryBudget
from inquest.domain.signals import LogLine, Logs, Matrix, Names, Series, Volume
from inquest.domain.value import Json, epoch_ms
from inquest.domain.window import Window
from inquest.ports import InvalidQuery
from inquest.stages.gather_evidence.opening import ERROR_WORDS
from inquest.wire.execute import execute_read
from tests.connectors.contract_base import broken_forms
from tests.connectors.harness import CONTEXT, NOW, WINDOW
from tests.connectors.loki_reads import SHOP, connected, content, failed, prepared, read
from tests.fakes.loki import Kept, matrix, refusal, route, serve, stats, stream, streams, success
from tests.fakes.loopback import Act, Handler, Reply, Seen

Arguments = dict[str, Json]
WEB = {"app": "web", "tenant": "shop"}
API = {"app": "api", "tenant": "shop"}
BEGUN = epoch_ms(WINDOW.start) * 10**6
HOUR = Window(start=WINDOW.start, end=WINDOW.start + GUARDED_FROM)
QUERY: Arguments = {"expression": '{app="web"}'}


def answering(data: Json, **more: Json) -> Handler:
    return lambda seen: serve({"query_range": success(data, **more), "stats": stats()}, seen)


# ---- lines -------------------------------------------------------------------------------------------------


async def test_lines_come_in_time_order_and_ties_by_stream_then_as_written() -> None:
    backward = streams(
        stream(WEB, (BEGUN + 3, "third"), (BEGUN + 2, "second of web"), (BEGUN + 2, "first of web")),
        stream(API, (BEGUN + 2, "of api"), (BEGUN + 1, "first")),
    )
    found = content(await read(answering(backward), "query", {"expression": '{app=~"web|api"}'}))

    assert isinstance(found, Logs)
    assert [one.line for one in found.lines] == ["first", "of api", "first of web", "second of web", "third"]
    assert found.lines[0] == LogLine(time=epoch_ms(WINDOW.start), time_ns=str(BEGUN + 1), labels=API, line="first")


async def test_a_forward_answer_is_in_the_same_order() -> None:
    forward = streams(stream(WEB, (BEGUN + 2, "first of web"), (BEGUN + 2, "second of web"), (BEGUN + 3, "third")))
    found = content(await read(answering(forward), "query", {**QUERY, "direction": "forward"}))
    assert isinstance(found, Logs)
    assert [one.line for one in found.lines] == ["first of web", "second of web", "third"]


async def test_a_line_outside_the_window_is_no_answer() -> None:
    end = epoch_ms(WINDOW.end) * 10**6
    answer = streams(stream(WEB, (end, "at the end"), (end - 1, "inside"), (BEGUN, "begun"), (BEGUN - 1, "before")))
    found = content(await read(answering(answer), "query", QUERY))
    assert isinstance(found, Logs)
    assert [one.line for one in found.lines] == ["begun", "inside"]


async def test_the_request_says_the_window_the_limit_and_the_direction() -> None:
    async with connected(answering(streams()), SHOP) as (fake, connector):
        query = prepared(connector, "query", QUERY, HOUR, QueryBudget(max_items=70))
        reading = await execute_read(connector, CONTEXT, query)

    (seen,) = fake.seen
    assert (seen.method, seen.path) == ("GET", "/loki/api/v1/query_range")
    assert seen.params == [
        ("query", '{app="web", tenant="shop"}'),
        ("start", str(BEGUN)),
        ("end", str(BEGUN + 3_600 * 10**9)),
        ("limit", "70"),
        ("direction", "backward"),
    ]
    assert content(reading) == Logs(lines=())
    assert isinstance(reading.outcome, Ok)
    assert (reading.outcome.observations[0].expression, reading.outcome.next_cursor) == (
        '{app="web", tenant="shop"}',
        None,
    )
    assert reading.exchanges == 1


async def test_a_long_expression_is_posted() -> None:
    long = '{app="web"} |= "' + "x" * 3_000 + '"'
    async with connected(answering(streams())) as (fake, connector):
        await execute_read(connector, CONTEXT, prepared(connector, "query", {"expression": long}, HOUR))
    assert [(seen.method, seen.param("query")) for seen in fake.seen] == [("POST", long)]


@pytest.mark.parametrize(
    "raw",
    [b"caf\xe9 closed", b"torn \xe2\x96", b"half \\ud83d of it", b"replaced by the source \\ufffd"],
)
async def test_bytes_that_are_no_utf8_are_replaced_and_said(raw: bytes) -> None:
    body = json.dumps({"status": "success", "data": streams(stream(WEB, (BEGUN, "LINE")))}).encode()
    answer = Reply(200, body.replace(b"LINE", raw))
    found = content(await read(answer, "query", QUERY, window=HOUR))
    assert isinstance(found, Logs)
    assert found.lossy
    assert "\ufffd" in found.lines[0].line


async def test_a_whole_answer_is_not_lossy() -> None:
    found = content(await read(answering(streams(stream(WEB, (BEGUN, "größe 🚀")))), "query", QUERY))
    assert isinstance(found, Logs)
    assert (found.lossy, found.lines[0].line) == (False, "größe 🚀")


async def test_warnings_of_the_source_make_it_partial() -> None:
    reading = await read(
        answering(streams(stream(WEB, (BEGUN, "x"))), warnings=["one ingester is away"]), "query", QUERY
    )
    assert isinstance(reading.outcome, Partial)
    assert reading.outcome.error.code is FailureCode.PROVIDER_ERROR


async def test_a_broken_answer_of_the_query_itself_is_never_an_exception() -> None:
    good: Json = {"status": "success", "data": streams(stream(WEB, (BEGUN, "x")))}
    async with connected(answering(streams()), SHOP) as (fake, connector):
        query = prepared(connector, "query", QUERY, HOUR)
        for broken in broken_forms(good):
            body = json.dumps(broken).encode()
            fake.handler = lambda _, body=body: Reply(200, body)  # type: ignore[misc]
            reading = await execute_read(connector, CONTEXT, query, unexpected=raise_again)
            assert isinstance(reading.outcome, Ok) or reading.outcome.error.code in {
                FailureCode.SCHEMA_DRIFT,
                FailureCode.MALFORMED_RESULT,
                FailureCode.CONTEXT_MISMATCH,
            }


def raise_again(error: Exception) -> None:
    raise error


# ---- numbers -----------------------------------------------------------------------------------------------


async def test_a_count_is_a_matrix_with_its_step() -> None:
    counted = matrix({"app": "web"}, (epoch_ms(WINDOW.start) / 1000, "3"), (epoch_ms(WINDOW.start) / 1000 + 60, "NaN"))
    async with connected(answering(counted), SHOP) as (fake, connector):
        arguments: Arguments = {"expression": 'sum by (app) (count_over_time({app="web"}[5m]))', "step_seconds": 60}
        reading = await execute_read(connector, CONTEXT, prepared(connector, "query", arguments))

    start = epoch_ms(WINDOW.start)
    assert content(reading) == Matrix(
        step_ms=60_000,
        series=(Series(labels={"app": "web"}, points=((start, 3.0), (start + 60_000, None)), non_finite=1),),
    )
    asked = fake.seen[-1]
    assert asked.params == [
        ("query", 'sum by (app) (count_over_time({app="web", tenant="shop"} [5m]))'),
        ("start", str(BEGUN)),
        ("end", str(epoch_ms(WINDOW.end) * 10**6 - 10**6)),
        ("step", "60"),
    ]


async def test_the_order_of_the_series_is_not_the_sources() -> None:
    rows: list[Json] = [{"metric": {"app": name}, "values": [[1.5, "1"]]} for name in ("b", "c", "a")]
    asked: Arguments = {"expression": 'rate({app=~"a|b|c"}[5m])'}
    one = await read(answering({"resultType": "matrix", "result": rows}), "query", asked)
    two = await read(answering({"resultType": "matrix", "result": rows[::-1]}), "query", asked)
    assert isinstance(one.outcome, Ok)
    assert isinstance(two.outcome, Ok)
    assert one.outcome.observations[0].digest == two.outcome.observations[0].digest


async def test_a_step_that_jumps_over_lines_is_said() -> None:
    arguments: Arguments = {"expression": 'count_over_time({app="web"}[1m])', "step_seconds": 120}
    found = content(await read(answering(matrix({"app": "web"}, (1.0, "1"))), "query", arguments))
    assert isinstance(found, Matrix)
    assert found.warnings == (
        "the step is longer than the range of the count: lines between two points may be counted at neither",
    )


@pytest.mark.parametrize("expression", ['{app="web"}', 'rate({app="web"}[5m])'])
async def test_an_answer_of_the_other_kind_is_drift(expression: str) -> None:
    data = matrix({"app": "web"}, (1.0, "1")) if expression.startswith("{") else streams(stream(WEB, (BEGUN, "x")))
    assert failed(await read(answering(data), "query", {"expression": expression})) == (
        FailureCode.SCHEMA_DRIFT,
        "data.resultType: not as documented",
    )


# ---- arguments ---------------------------------------------------------------------------------------------


async def test_the_seeds_of_an_investigation_are_taken() -> None:
    expression = '{app="web"} |~ "' + ERROR_WORDS + '"'
    async with connected(answering(streams()), SHOP) as (_, connector):
        query = prepared(connector, "query", {"expression": expression})
    assert query.arguments == {
        "expression": '{app="web", tenant="shop"} |~ "' + ERROR_WORDS + '"',
        "direction": "backward",
    }


async def test_lines_have_a_direction_and_numbers_a_step() -> None:
    counted: Arguments = {"expression": 'rate({app="web"}[5m])', "direction": "forward"}
    async with connected(answering(streams())) as (_, connector):
        assert prepared(connector, "query", counted).arguments == {
            "expression": 'rate({app="web"} [5m])',
            "step_seconds": 29,
        }
        assert prepared(connector, "query", counted, HOUR).arguments["step_seconds"] == 15
        assert prepared(connector, "query", {**QUERY, "step_seconds": 5, "direction": "forward"}).arguments == {
            "expression": '{app="web"}',
            "direction": "forward",
        }
        with pytest.raises(InvalidQuery, match="step_seconds: at least 29 for this time range"):
            prepared(connector, "query", {**counted, "step_seconds": 28})
        with pytest.raises(InvalidQuery, match="label: write a label name"):
            prepared(connector, "labels", {"label": "../admin"})
        with pytest.raises(InvalidQuery, match="label: write a label name"):
            prepared(connector, "labels", {"label": "app\n"})
        with pytest.raises(InvalidQuery, match="direction: does not fit"):
            prepared(connector, "query", {**QUERY, "direction": "sideways"})


# ---- the volume guard --------------------------------------------------------------------------------------


async def test_over_an_hour_the_index_is_asked_first_and_both_requests_count() -> None:
    async with connected(Kept([]), SHOP) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, "query", QUERY))
    assert [route(seen) for seen in fake.seen] == ["stats", "query_range"]
    assert reading.exchanges == 2
    assert fake.seen[0].params == [
        ("query", '{app="web", tenant="shop"}'),
        ("start", str(BEGUN)),
        ("end", str(epoch_ms(WINDOW.end) * 10**6)),
    ]


async def test_up_to_an_hour_nothing_is_asked_first() -> None:
    async with connected(Kept([], scan_bytes=10**15)) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, "query", QUERY, HOUR))
    assert isinstance(reading.outcome, Ok)
    assert [route(seen) for seen in fake.seen] == ["query_range"]


async def test_the_range_of_a_count_is_read_too() -> None:
    counted: Arguments = {"expression": 'count_over_time({app="web"}[10m])'}
    async with connected(Kept([], scan_bytes=10**15)) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, "query", counted, HOUR))
    assert failed(reading)[0] is FailureCode.BUDGET_EXHAUSTED
    assert [route(seen) for seen in fake.seen] == ["stats"]
    assert fake.seen[0].param("start") == str(BEGUN - 600 * 10**9)


async def test_what_would_read_too_much_is_refused_with_a_hint_and_not_sent() -> None:
    async with connected(Kept([], scan_bytes=MAX_SCAN_BYTES + 1)) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, "query", QUERY))
    assert failed(reading) == (
        FailureCode.BUDGET_EXHAUSTED,
        (
            "time_range: the query would read 2,048 MiB of log lines, 2,048 MiB are allowed; narrow the time range or "
            "the selector"
        ),
    )
    assert reading.exchanges == len(fake.seen) == 1


async def test_exactly_what_is_allowed_is_read() -> None:
    config = LokiConfig(name="logs", context=CONTEXT, max_scan_bytes=1_000)
    for size, ok in ((1_000, True), (1_001, False)):
        async with connected(Kept([], scan_bytes=size), config=config) as (_, connector):
            reading = await execute_read(connector, CONTEXT, prepared(connector, "query", QUERY))
        assert isinstance(reading.outcome, Ok) is ok


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_loki_without_that_index_is_asked_all_the_same(status: int) -> None:
    def handler(seen: Seen) -> Act:
        return refusal(status, "404 page not found") if route(seen) == "stats" else success(streams())

    assert content(await read(handler, "query", QUERY)) == Logs(lines=())
    assert failed(await read(handler, "volume", {"selector": '{app="web"}'})) == (
        FailureCode.SCHEMA_DRIFT,
        "this Loki has no index/stats",
    )


async def test_an_index_that_fails_is_no_leave_to_read() -> None:
    def handler(seen: Seen) -> Act:
        return refusal(500, "oh no") if route(seen) == "stats" else success(streams())

    assert failed(await read(handler, "query", QUERY)) == (FailureCode.PROVIDER_ERROR, "HTTP 500")


# ---- scope -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("query", {"expression": '{app="web", tenant="other"}'}),
        ("labels", {"selector": '{tenant="other"}'}),
        ("volume", {"selector": '{tenant="other"}'}),
    ],
)
async def test_another_scope_is_a_mismatch_and_sends_nothing(operation: str, arguments: Arguments) -> None:
    async with connected(Kept([]), SHOP) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, operation, arguments))
    assert failed(reading) == (FailureCode.CONTEXT_MISMATCH, "tenant: this integration reads another value")
    assert fake.seen == []


@pytest.mark.parametrize(
    ("operation", "arguments", "data"),
    [
        ("query", QUERY, streams(stream({"app": "web", "tenant": "other"}, (BEGUN, "x")))),
        ("query", {"expression": 'rate({app="web"}[5m])'}, matrix({"tenant": "other"}, (1.0, "1"))),
        ("labels", {"label": "app"}, [{"app": "web", "tenant": "other"}]),
    ],
)
async def test_streams_of_another_scope_in_an_answer_are_a_mismatch(
    operation: str, arguments: Arguments, data: Json
) -> None:
    handler = {"query_range": success(data), "series": success(data), "stats": stats()}
    reading = await read(lambda seen: serve(handler, seen), operation, arguments, SHOP)
    assert failed(reading) == (FailureCode.CONTEXT_MISMATCH, "the answer holds streams of another scope")


async def test_the_tenant_of_the_configuration_goes_with_every_request() -> None:
    config = LokiConfig(name="logs", context=CONTEXT, org_id="shop")
    async with connected(Kept([]), config=config) as (fake, connector):
        await execute_read(connector, CONTEXT, prepared(connector, "query", QUERY))
        await connector.health()
    assert [seen.headers.get("x-scope-orgid") for seen in fake.seen] == ["shop"] * 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"org_id": "other"},  # than the tenant that is pinned
        {"org_id": "shop|other"},
        {"org_id": "shop\r\nX-Evil: 1"},
        {"org_id": "shop\n"},
        {"mandatory_matchers": {"app\n": "x"}},
        {"mandatory_matchers": {"": "x"}},
        {"mandatory_matchers": {"a-b": "x"}},
        {"mandatory_matchers": {"tenant": ""}},
        {"max_scan_bytes": 0},
    ],
)
def test_a_configuration_that_pins_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LokiConfig(name="logs", context=CONTEXT, **wrong)


# ---- names and volumes -------------------------------------------------------------------------------------


async def test_without_a_scope_names_come_from_the_label_endpoints() -> None:
    async with connected(success(["b", "a", "ab"])) as (fake, connector):
        names = content(await execute_read(connector, CONTEXT, prepared(connector, "labels", {"search": "A"})))
        await execute_read(connector, CONTEXT, prepared(connector, "labels", {"label": "app"}))
    assert names == Names(names=("a", "ab"))
    assert [seen.path for seen in fake.seen] == ["/loki/api/v1/labels", "/loki/api/v1/label/app/values"]
    assert {seen.param("start") for seen in fake.seen} == {str(BEGUN)}


async def test_without_any_names_loki_leaves_the_data_out() -> None:
    assert content(await read(Reply(200, b'{"status":"success"}'), "labels", {})) == Names(names=())


@pytest.mark.parametrize(
    ("matchers", "arguments", "asked", "names"),
    [
        (SHOP, {}, '{tenant="shop"}', ("app", "pod", "tenant")),
        (SHOP, {"label": "app"}, '{tenant="shop"}', ("api", "web")),
        (SHOP, {"label": "pod"}, '{tenant="shop"}', ("web-0",)),
        (SHOP, {"label": "app", "selector": '{app=~"api|web"}'}, '{app=~"api|web", tenant="shop"}', ("api", "web")),
        ({}, {"label": "app", "selector": '{app=~"api|web"}'}, '{app=~"api|web"}', ("api", "web")),
    ],
)
async def test_within_a_selector_names_come_from_its_streams(
    matchers: dict[str, str], arguments: Arguments, asked: str, names: tuple[str, ...]
) -> None:
    async with connected(success([{**WEB, "pod": "web-0"}, {**API}]), matchers) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, "labels", arguments))
    assert [(seen.path, seen.param("match[]")) for seen in fake.seen] == [("/loki/api/v1/series", asked)]
    assert content(reading) == Names(names=names)


async def test_the_volume_is_what_the_index_says() -> None:
    async with connected(stats(streams=2, entries=30, bytes=400), SHOP) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, "volume", {"selector": '{app="web"}'}))
    assert content(reading) == Volume(streams=2, entries=30, bytes=400)
    assert fake.seen[0].param("query") == '{app="web", tenant="shop"}'


@pytest.mark.parametrize("wrong", [{"bytes": -1}, {"bytes": True}, {"entries": "3"}])
async def test_a_volume_that_is_no_count_is_drift(wrong: dict[str, Any]) -> None:
    assert failed(await read(stats(**wrong), "volume", {"selector": '{app="web"}'}))[0] is FailureCode.SCHEMA_DRIFT


# ---- links -------------------------------------------------------------------------------------------------


async def test_a_link_is_an_explore_page_only_where_a_grafana_is_configured() -> None:
    config = LokiConfig(name="logs", context=CONTEXT, explore_url="https://grafana.example.org/g/", datasource="P8E8")
    async with connected(Kept([]), config=config) as (_, connector):
        link = urlsplit(connector.link(prepared(connector, "query", QUERY)))
        assert connector.link(prepared(connector, "labels", {"label": "app"})) == ""
    assert (link.scheme, link.netloc, link.path) == ("https", "grafana.example.org", "/g/explore")
    (panes,) = parse_qs(link.query)["panes"]
    assert json.loads(panes) == {
        "a": {
            "datasource": "P8E8",
            "queries": [{"refId": "A", "datasource": {"type": "loki", "uid": "P8E8"}, "expr": '{app="web"}'}],
            "range": {"from": str(epoch_ms(WINDOW.start)), "to": str(epoch_ms(WINDOW.end))},
        }
    }
    async with connected(Kept([])) as (_, connector):
        assert connector.link(prepared(connector, "query", QUERY)) == ""


async def test_health_asks_for_names_of_the_last_minutes() -> None:
    async with connected(success(["app"])) as (fake, connector):
        assert await connector.health() == "ok"
    now = epoch_ms(NOW) * 10**6
    assert (fake.seen[0].path, fake.seen[0].param("start"), fake.seen[0].param("end")) == (
        "/loki/api/v1/labels",
        str(now - timedelta(minutes=5) // timedelta(microseconds=1) * 1_000),
        str(now),
    )


# ---- what nobody asked for -----------------------------------------------------------------------------------


async def test_lines_of_another_service_are_left_out_and_said() -> None:
    mixed = streams(stream(WEB, (BEGUN + 2, "ours")), stream(API, (BEGUN + 1, "theirs")))
    reading = await read(answering(mixed), "query", QUERY)

    assert isinstance(reading.outcome, Partial)
    assert reading.outcome.error.code is FailureCode.CONTEXT_MISMATCH
    assert "1 of 2" in reading.outcome.error.hint
    assert b"theirs" not in b"".join(reading.contents.values())


async def test_counts_and_labels_of_another_service_alone_are_no_evidence() -> None:
    counted = await read(answering(matrix(API, (1, "2"))), "query", {"expression": 'rate({app="web"}[5m])'})
    assert failed(counted)[0] is FailureCode.CONTEXT_MISMATCH

    listed = {"label": "app", "selector": '{app="web"}'}
    named = await read(lambda seen: serve({"series": success([{**API}])}, seen), "labels", listed)
    assert failed(named)[0] is FailureCode.CONTEXT_MISMATCH
