"""The connector, the printer and the quoting against Debian's own Prometheus."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inquest.connectors.prometheus import (
    QUERY_ENDPOINTS,
    PrometheusConfig,
    PrometheusConnector,
    create_prometheus_connector,
)
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Ok
from inquest.domain.selector import quote
from inquest.domain.signals import FiringAlerts, Matrix, Names, Rules, SeriesNames, Vector
from inquest.domain.value import Json
from inquest.domain.window import Window
from inquest.ports import InvalidQuery, Reading
from inquest.wire.endpoint import Endpoint
from inquest.wire.execute import execute_read
from inquest.wire.promql import scope
from inquest.wire.transport import Transport
from tests.connectors.harness import CONTEXT, CURSOR_KEY, StandingClock
from tests.connectors.prometheus_reads import content, failed, prepared
from tests.scenarios.real_prometheus import needs_prometheus, running_prometheus
from tests.wire.promql_texts import EXPRESSIONS

pytestmark = [pytest.mark.e2e, needs_prometheus]

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
WINDOW = Window(start=START, end=START + timedelta(hours=1))
STEP_S = 15
RULES = """
groups:
  - name: web
    rules:
      - alert: WebDown
        expr: up{tenant="shop"} == 0
        for: 1m
        labels: {severity: critical, tenant: shop}
        annotations: {summary: "{{ $labels.pod }} is down"}
      - record: theirs:up:sum
        expr: sum(up{tenant="other"})
"""


def samples() -> str:
    """Write an hour in which web-1 of shop goes down after half an hour; another tenant has the same names."""
    lines = ["# TYPE up gauge"]
    for tenant, pod in (("shop", "web-0"), ("shop", "web-1"), ("other", "web-0")):
        for at in range(0, 3600, STEP_S):
            down = (tenant, pod) == ("shop", "web-1") and at >= 1800
            lines.append(f'up{{job="web",pod="{pod}",tenant="{tenant}"}} {0 if down else 1} {START.timestamp() + at}')
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("prometheus")
    (folder / "rules.yml").write_text(RULES)
    configuration = f"rule_files: [{folder / 'rules.yml'}]\n"
    with running_prometheus(folder, samples(), configuration=configuration) as url:
        yield url


@asynccontextmanager
async def connector(url: str) -> AsyncIterator[PrometheusConnector]:
    config = PrometheusConfig(name="prom", context=CONTEXT, url=url, mandatory_matchers={"tenant": "shop"})
    transport = Transport(Endpoint(base_url=url), post_to=QUERY_ENDPOINTS)
    made = create_prometheus_connector(config, transport, clock=StandingClock(WINDOW.end), cursor_key=CURSOR_KEY)
    try:
        yield made
    finally:
        await made.aclose()


async def ask(url: str, operation: str, arguments: dict[str, Json]) -> Reading:
    async with connector(url) as made:
        return await execute_read(made, CONTEXT, prepared(made, operation, arguments, WINDOW))


async def test_every_tool_reads_a_real_server_in_its_scope(server: str) -> None:
    curve = content(await ask(server, "query_range", {"expression": "min by (pod) (up)"}))
    assert isinstance(curve, Matrix)
    onset = {one.labels["pod"]: next((at for at, value in one.points if value == 0), None) for one in curve.series}
    assert onset == {"web-0": None, "web-1": (int(START.timestamp()) + 1800) * 1000}
    assert {len(one.points) for one in curve.series} == {240}

    count = content(await ask(server, "query", {"expression": "count(up)"}))
    assert isinstance(count, Vector)
    assert [one.value for one in count.samples] == [2.0]

    series = content(await ask(server, "series", {"selector": "up"}))
    assert isinstance(series, SeriesNames)
    assert sorted(one["pod"] for one in series.series) == ["web-0", "web-1"]
    assert content(await ask(server, "labels", {"label": "tenant"})) == Names(names=("shop",))
    assert content(await ask(server, "labels", {"search": "po"})) == Names(names=("pod",))
    assert content(await ask(server, "metadata", {})) == Names(names=())  # backfilled samples have none

    rules = content(await ask(server, "rules", {}))
    assert isinstance(rules, Rules)
    assert [(rule.name, rule.expression, rule.duration_s) for rule in rules.rules] == [
        ("WebDown", 'up{tenant="shop"} == 0', 60.0)
    ]
    assert isinstance(content(await ask(server, "alerts", {})), FiringAlerts)


async def test_a_real_server_is_healthy_and_a_stopped_one_is_not(server: str) -> None:
    async with connector(server) as made:
        assert await made.health() == "ok"
    async with connector("http://127.0.0.1:1") as made:
        assert await made.health() == "failing"


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("up / on (job) up", "match labels are not unique on one side"),
        ('label_replace(up, "pod", "x", "", "")', "it gives the same labels twice"),
        ("mad_over_time(up[5m])", "the source does not know a function in it"),
        ('up{"a.b"="c"}', "the source cannot parse it"),
    ],
)
async def test_what_a_real_server_refuses_is_told_in_our_words(server: str, expression: str, hint: str) -> None:
    code, said = failed(await ask(server, "query", {"expression": expression}))
    assert code is FailureCode.INVALID_QUERY
    assert hint in said


async def test_a_posted_query_is_answered_like_a_short_one(server: str) -> None:
    long = " or ".join(["up"] + [f'up{{pod="{"x" * 200}{number}"}}' for number in range(10)])
    short, posted = await ask(server, "query", {"expression": "up"}), await ask(server, "query", {"expression": long})
    assert isinstance(posted.outcome, Ok)
    assert content(posted) == content(short)


def formatted(server: str, expression: str) -> str | None:
    """Give the server's own canonical writing of an expression; None where it does not parse it."""
    query = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(f"{server}/api/v1/format_query?{query}", timeout=10) as said:  # noqa: S310 - loopback
            return str(json.load(said)["data"])
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.BAD_REQUEST:
            raise
        return None


def test_what_is_sent_means_to_prometheus_what_was_asked(server: str) -> None:
    compared = 0

    @settings(max_examples=300, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
    @given(EXPRESSIONS)
    def same(text: str) -> None:
        nonlocal compared
        asked = formatted(server, text)
        if asked is None:
            return
        try:
            sent = scope(text, {}).expression
        except InvalidQuery:
            return
        assert formatted(server, sent) == asked
        compared += 1

    same()
    assert compared > 50


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(value=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_a_quoted_value_is_the_same_value_to_prometheus(server: str, value: str) -> None:
    replacement = quote(value.replace("$", "$$"))
    query = urllib.parse.urlencode({"query": f'label_replace(vector(1), "a", {replacement}, "", "")'})
    with urllib.request.urlopen(f"{server}/api/v1/query?{query}", timeout=10) as said:  # noqa: S310 - loopback
        (row,) = json.load(said)["data"]["result"]
    assert row["metric"] == {"a": value}
