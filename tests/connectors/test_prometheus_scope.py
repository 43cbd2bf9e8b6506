import pytest
from pydantic import ValidationError

from inquest.connectors.prometheus import (
    PrometheusConfig,
)
from inquest.connectors.shared.strays import UNHELD
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Ok, Partial
from inquest.domain.signals import (
    FiringAlerts,
    Names,
    Rules,
    Vector,
)
from inquest.domain.value import Json
from inquest.wire.execute import execute_read
from tests.connectors.harness import CONTEXT
from tests.connectors.prometheus_reads import SHOP, connected, content, failed, prepared, read
from tests.fakes.prometheus import recorded, serve, success


async def test_mandatory_matchers_are_sent_in_every_request_that_takes_them() -> None:
    answers = {
        "query": recorded("query_no_data"),
        "series": success([]),
        "labels": success([]),
        "values": success(["up"]),
        "metadata": success({}),
    }
    asks: list[tuple[str, dict[str, Json]]] = [
        ("query", {"expression": "a / b"}), ("series", {"selector": "a"}), ("labels", {}), ("labels", {"label": "job", "selector": "a"}), ("metadata", {}),
    ]  # fmt: skip
    async with connected(lambda seen: serve(answers, seen), SHOP) as (fake, connector):
        for operation, arguments in asks:
            assert isinstance(
                (await execute_read(connector, CONTEXT, prepared(connector, operation, arguments))).outcome, Ok
            )

    assert [(seen.path, seen.param("query") or seen.param("match[]")) for seen in fake.seen] == [
        ("/api/v1/query", 'a{tenant="shop"} / b{tenant="shop"}'),
        ("/api/v1/series", 'a{tenant="shop"}'),
        ("/api/v1/labels", '{tenant="shop"}'),
        ("/api/v1/label/job/values", 'a{tenant="shop"}'),
        ("/api/v1/label/__name__/values", '{tenant="shop"}'),
        ("/api/v1/metadata", ""),
    ]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [("query", {"expression": 'up{tenant="other"}'}), ("query_range", {"expression": 'a + up{tenant="other"}'}), ("series", {"selector": 'up{tenant="other"}'}), ("labels", {"selector": 'up{tenant="other"}'})],
)  # fmt: skip
async def test_another_tenant_in_a_selector_is_a_mismatch_and_sends_nothing(
    operation: str, arguments: dict[str, Json]
) -> None:
    async with connected(success([]), SHOP) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, prepared(connector, operation, arguments))
    assert failed(reading) == (FailureCode.CONTEXT_MISMATCH, "tenant: this integration reads another value")
    assert (fake.seen, reading.exchanges) == ([], 0)


@pytest.mark.parametrize(
    ("operation", "arguments", "data"),
    [
        (
            "query",
            {"expression": "up"},
            {"resultType": "vector", "result": [{"metric": {"tenant": "other"}, "value": [1, "1"]}]},
        ),
        (
            "query_range",
            {"expression": "up"},
            {"resultType": "matrix", "result": [{"metric": {"tenant": "other"}, "values": []}]},
        ),
        ("series", {"selector": "up"}, [{"tenant": "shop"}, {"tenant": "other"}]),
    ],
)
async def test_an_answer_with_another_tenants_series_is_a_mismatch(
    operation: str, arguments: dict[str, Json], data: Json
) -> None:
    reading = await read(success(data), operation, SHOP, **arguments)
    assert failed(reading) == (FailureCode.CONTEXT_MISMATCH, "the answer holds series of another scope")


def rule(name: str, query: str, labels: dict[str, Json]) -> Json:
    return {
        "name": name,
        "query": query,
        "type": "alerting",
        "labels": labels,
        "annotations": {},
        "state": "inactive",
        "duration": 1,
    }


async def test_rules_of_another_scope_are_not_shown() -> None:
    rules: Json = [
        rule("Mine", "up == 0", {"tenant": "shop"}),
        rule("Shared", "sum(up) == 0", {}),
        rule("LabelledElsewhere", "up", {"tenant": "other"}),
        rule("ReadsElsewhere", 'up{tenant="other"}', {}),
        rule("Unreadable", "up[", {}),
        rule("UnreadableMine", "up[", {"tenant": "shop"}),
    ]
    answer = success({"groups": [{"name": "g", "rules": rules}]})
    scoped, open_ = content(await read(answer, "rules", SHOP)), content(await read(answer, "rules"))

    assert isinstance(scoped, Rules)
    assert [one.name for one in scoped.rules] == ["Mine", "Shared", "UnreadableMine"]
    assert isinstance(open_, Rules)
    assert len(open_.rules) == 6


def alert(name: str, at: str, **labels: str) -> Json:
    return {"labels": {"alertname": name, **labels}, "annotations": {}, "state": "firing", "activeAt": at, "value": "1"}


async def test_alerts_of_the_scope_are_shown_and_those_without_one_are_said() -> None:
    early = "2026-03-01T11:00:00Z"
    data: Json = {
        "alerts": [alert("Mine", early, tenant="shop"), alert("Theirs", early, tenant="other"), alert("Nobodys", early)]
    }
    reading = await read(success(data), "alerts", SHOP)
    found = content(reading)

    assert isinstance(found, FiringAlerts)
    assert [one.name for one in found.alerts] == ["Mine"]
    assert isinstance(reading.outcome, Partial)
    assert (reading.outcome.error.code, reading.outcome.error.hint) == (
        FailureCode.CAPABILITY_DENIED,
        "1 alerts carry no tenant and are left out",
    )


async def test_alerts_that_began_after_the_window_are_not_in_it() -> None:
    data: Json = {
        "alerts": [
            alert("In", "2026-03-01T11:59:59Z"),
            alert("After", "2026-03-01T12:00:01Z"),
            alert("Unset", "0001-01-01T00:00:00Z"),
        ]
    }
    found = content(await read(success(data), "alerts"))
    assert isinstance(found, FiringAlerts)
    assert [(one.name, one.active_at) for one in found.alerts] == [("In", 1772366399000), ("Unset", None)]


async def test_metadata_shows_only_names_of_the_scope() -> None:
    answers = {
        "values": success(["up"]),
        "metadata": success(
            {"up": [{"type": "gauge", "help": "h", "unit": "s"}], "theirs": [{"type": "gauge", "help": "", "unit": ""}]}
        ),
    }
    found = content(await read(lambda seen: serve(answers, seen), "metadata", SHOP))
    assert found == Names(names=("up",), about={"up": "gauge: h (s)"})


@pytest.mark.parametrize("matchers", [{"__name__": "up"}, {"a b": "x"}, {"a": ""}, {"1a": "x"}])
def test_matchers_that_cannot_scope_a_selector_are_refused(matchers: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        PrometheusConfig(name="p", context=CONTEXT, url="http://x", mandatory_matchers=matchers)


MIXED: dict[str, Json] = {
    "query": {
        "resultType": "vector",
        "result": [
            {"metric": {"__name__": "up", "service": "web"}, "value": [1, "1"]},
            {"metric": {"__name__": "up", "service": "api"}, "value": [1, "NaN"]},
        ],
    },
    "query_range": {
        "resultType": "matrix",
        "result": [
            {"metric": {"__name__": "up", "service": "web"}, "values": [[1, "1"]]},
            {"metric": {"__name__": "up", "service": "api"}, "values": [[1, "0"]]},
        ],
    },
    "series": [{"__name__": "up", "service": "web"}, {"__name__": "up", "service": "api"}],
}
LEFT_OUT = (
    FailureCode.CONTEXT_MISMATCH,
    (
        "1 of 2 in the answer are none that the expression selects by __name__, service: left out; "
        "check what stands before the source"
    ),
)


@pytest.mark.parametrize(
    ("operation", "argument"), [("query", "expression"), ("query_range", "expression"), ("series", "selector")]
)
async def test_a_series_of_another_service_is_left_out_and_said(operation: str, argument: str) -> None:
    reading = await read(success(MIXED[operation]), operation, None, **{argument: 'up{service="web"}'})

    assert isinstance(reading.outcome, Partial)
    assert (reading.outcome.error.code, reading.outcome.error.hint) == LEFT_OUT
    assert b"api" not in b"".join(reading.contents.values())
    assert b'"service":"web"' in b"".join(reading.contents.values())


@pytest.mark.parametrize(
    ("operation", "argument"), [("query", "expression"), ("query_range", "expression"), ("series", "selector")]
)
async def test_an_answer_of_nothing_that_was_asked_for_is_no_evidence(operation: str, argument: str) -> None:
    reading = await read(success(MIXED[operation]), operation, None, **{argument: 'up{service="shop"}'})
    assert failed(reading)[0] is FailureCode.CONTEXT_MISMATCH
    assert reading.contents == {}


async def test_an_answer_of_labels_that_the_expression_makes_says_that_they_were_not_held() -> None:
    data: Json = {"resultType": "vector", "result": [{"metric": {"service": "web"}, "value": [1, "1"]}]}
    found = content(await read(success(data), "query", expression='absent(up{service="web"})'))
    assert isinstance(found, Vector)
    assert found.warnings == (UNHELD,)
