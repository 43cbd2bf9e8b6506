"""The connectors of Loki and GitLab against the recorded backend, over the incident that ships with Inquest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from pydantic import SecretStr

from inquest.analysis.novelty import novel_templates
from inquest.analysis.suspects import suspects
from inquest.connectors.gitlab import TOKEN_HEADER, GitLabConfig, create_gitlab_connector
from inquest.connectors.loki import QUERY_ENDPOINTS, LokiConfig, create_loki_connector
from inquest.domain.failure import FailureCode
from inquest.domain.investigation import Facts, ServiceGuess
from inquest.domain.observation import Error, Ok, Query, QueryBudget
from inquest.domain.signals import Changes, LogLine, Logs, Matrix, Names, SignalContent, Volume, signal_content
from inquest.domain.value import Json, epoch_ms
from inquest.domain.window import IncidentWindow, Window, incident_window
from inquest.ports import Connector, Reading
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.server import RecordedBackend, start
from inquest.stages.gather_evidence.opening import METRICS_ALERT
from inquest.wire.endpoint import Endpoint, HeaderToken
from inquest.wire.execute import execute_read
from inquest.wire.transport import Transport
from tests.builders import facts
from tests.connectors.harness import CONTEXT, CURSOR_KEY, NOW, StandingClock

PROJECTS = ("shop/checkout", "shop/payments", "shop/frontend", "shop/search")
CHECKOUT = ServiceGuess(
    service_id="checkout", how="label", matchers={"loki": {"namespace": "shop", "service": "checkout"}}
)


@pytest.fixture(scope="module")
def backend() -> Iterator[RecordedBackend]:
    with start(open_scenario("checkout_pool"), now=NOW) as running:
        yield running


@pytest.fixture
async def loki(backend: RecordedBackend) -> AsyncIterator[Connector]:
    config = LokiConfig(name="logs", context=CONTEXT, org_id="shop", mandatory_matchers={"namespace": "shop"})
    transport = Transport(Endpoint(base_url=backend.loki_url, headers=config.headers), post_to=QUERY_ENDPOINTS)
    connector = create_loki_connector(config, transport, clock=StandingClock(), cursor_key=CURSOR_KEY)
    yield connector
    await connector.aclose()


@pytest.fixture
async def gitlab(backend: RecordedBackend) -> AsyncIterator[Connector]:
    connector = gitlab_at(backend, backend.gitlab_token)
    yield connector
    await connector.aclose()


def gitlab_at(backend: RecordedBackend, token: str, projects: tuple[str, ...] = PROJECTS) -> Connector:
    config = GitLabConfig(name="code", context=CONTEXT, url="https://gitlab.shop.example", projects=projects)
    credential = HeaderToken(header=TOKEN_HEADER, token=SecretStr(token))
    transport = Transport(Endpoint(base_url=backend.gitlab_url), credential)
    return create_gitlab_connector(config, transport, clock=StandingClock(), cursor_key=CURSOR_KEY)


def windows(backend: RecordedBackend) -> IncidentWindow:
    anchor = backend.scenario.anchor
    return incident_window(firing_since=anchor, received_at=anchor, ended_at=None, now=NOW)


def query(
    connector: Connector,
    tool: str,
    arguments: dict[str, Json],
    window: Window,
    *,
    service: str = "checkout",
    budget: QueryBudget | None = None,
) -> Query:
    found = next(one for one in connector.tools if one.spec.name == tool)
    bare = Query(tool=tool, service_id=service, arguments={}, time_range=window, budget=budget or QueryBudget())
    return found.prepare(arguments, bare)


async def read(connector: Connector, asked: Query) -> Reading:
    return await execute_read(connector, CONTEXT, asked, unexpected=raise_again)


def raise_again(error: Exception) -> None:
    raise error


def content(reading: Reading) -> SignalContent:
    assert isinstance(reading.outcome, Ok), reading.outcome
    (one,) = reading.outcome.observations
    return signal_content.validate_json(reading.contents[one.digest])


# ---- the seeds ---------------------------------------------------------------------------------------------


async def test_the_seed_calls_are_answered(backend: RecordedBackend, loki: Connector, gitlab: Connector) -> None:
    found: dict[tuple[str, str], SignalContent] = {}
    alert: Facts = facts()
    for row in METRICS_ALERT:
        connector = {"loki": loki, "gitlab": gitlab}.get(row.tool.partition("_")[0])
        if connector is None:
            continue
        arguments = row.arguments(alert, CHECKOUT)
        assert arguments is not None
        window = getattr(windows(backend), row.window)
        found[row.tool, row.window] = content(await read(connector, query(connector, row.tool, arguments, window)))

    assert list(found) == [
        ("gitlab_deployments", "incident"),
        ("gitlab_merge_requests", "incident"),
        ("loki_query", "incident"),
        ("loki_query", "baseline"),
    ]
    incident, baseline = found["loki_query", "incident"], found["loki_query", "baseline"]
    assert isinstance(incident, Logs)
    assert isinstance(baseline, Logs)
    (newest, *_) = novel_templates(incident.lines, baseline.lines)
    assert "timeout acquiring connection from pool" in newest.template
    assert newest.baseline == 0


async def test_the_culprit_is_the_first_suspect(backend: RecordedBackend, gitlab: Connector) -> None:
    truth, window = backend.scenario.header.truth, windows(backend).incident
    assert truth.onset is not None
    blamed = []
    for tool in ("gitlab_deployments", "gitlab_merge_requests"):
        found = content(await read(gitlab, query(gitlab, tool, {}, window)))
        assert isinstance(found, Changes)
        first, *_ = suspects(found.changes, onset_ms=epoch_ms(truth.onset), service="checkout")
        assert first.is_own
        assert first.change.title == "Raise worker concurrency for the spring sale"
        assert first.change.author == "Ines Duarte"
        blamed.append(first.change.change_id)
    assert truth.culprit_change in blamed


# ---- Loki --------------------------------------------------------------------------------------------------


async def test_pages_of_lines_are_all_lines_each_once(backend: RecordedBackend, loki: Connector) -> None:
    window = windows(backend).incident
    volume = content(await read(loki, query(loki, "loki_volume", {"selector": '{service="checkout"}'}, window)))
    assert isinstance(volume, Volume)
    assert volume.entries > 500
    for direction in ("backward", "forward"):
        arguments: dict[str, Json] = {"expression": '{service="checkout"}', "direction": direction}
        budget = QueryBudget(max_items=volume.entries // 3 + 1, max_bytes=1_048_576, max_pages=4)
        asked = query(loki, "loki_query", arguments, window, budget=budget)
        found: list[LogLine] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            reading = await read(loki, asked.but(cursor=cursor))
            page = content(reading)
            assert isinstance(page, Logs)
            assert isinstance(reading.outcome, Ok)
            found += page.lines
            cursor, pages = reading.outcome.next_cursor, pages + 1
        names = [(one.time_ns, one.labels["pod"], one.line) for one in found]
        assert (len(names), len(set(names)), pages) == (volume.entries, volume.entries, 3)


async def test_a_count_agrees_with_the_lines(backend: RecordedBackend, loki: Connector) -> None:
    window = Window(start=NOW - timedelta(minutes=30), end=NOW)
    lines = content(
        await read(
            loki,
            query(
                loki,
                "loki_query",
                {"expression": '{service="checkout"} |= "level=error"'},
                window,
                budget=QueryBudget(max_items=5_000, max_bytes=1_048_576),
            ),
        )
    )
    expression = 'sum by (service) (count_over_time({service="checkout"} |= "level=error" [1m]))'
    counted = content(
        await read(loki, query(loki, "loki_query", {"expression": expression, "step_seconds": 60}, window))
    )
    assert isinstance(lines, Logs)
    assert isinstance(counted, Matrix)
    (series,) = counted.series
    start = epoch_ms(window.start)
    expected = {
        at: sum(at - 60_000 < one.time <= at for one in lines.lines)
        for at in range(start + 60_000, epoch_ms(window.end), 60_000)
    }
    assert {at: int(value or 0) for at, value in series.points if at > start} == {
        at: count for at, count in expected.items() if count
    }


async def test_names_are_those_of_the_scope(backend: RecordedBackend, loki: Connector) -> None:
    window = windows(backend).incident
    services = content(await read(loki, query(loki, "loki_labels", {"label": "service"}, window)))
    labels = content(
        await read(loki, query(loki, "loki_labels", {"selector": '{service="search"}', "search": "o"}, window))
    )
    assert services == Names(names=("checkout", "frontend", "payments", "search"))
    assert labels == Names(names=("container", "pod"))


async def test_what_the_recording_cannot_evaluate_is_the_querys_fault(
    backend: RecordedBackend, loki: Connector
) -> None:
    expression = '{service="checkout"} | line_format "{{.msg}}"'
    asked = query(loki, "loki_query", {"expression": expression}, windows(backend).incident)
    reading = await read(loki, asked)
    assert isinstance(reading.outcome, Error)
    assert (reading.outcome.error.code, reading.outcome.error.hint) == (
        FailureCode.INVALID_QUERY,
        "expression: Loki cannot parse it",
    )


async def test_health_is_what_the_doors_say(backend: RecordedBackend, loki: Connector, gitlab: Connector) -> None:
    assert [await loki.health(), await gitlab.health()] == ["ok", "ok"]
    wrong = gitlab_at(backend, "glpat-wrong")
    assert await wrong.health() == "failing"
    await wrong.aclose()


# ---- GitLab ------------------------------------------------------------------------------------------------


async def test_without_a_known_service_all_projects_are_read(backend: RecordedBackend, gitlab: Connector) -> None:
    window = windows(backend).incident
    found = content(await read(gitlab, query(gitlab, "gitlab_deployments", {}, window, service="")))
    assert isinstance(found, Changes)
    assert [(one.service, one.status, one.environment) for one in found.changes] == [
        ("payments", "success", "production"),
        ("checkout", "success", "production"),
    ]
    assert all(epoch_ms(window.start) <= one.time < epoch_ms(window.end) for one in found.changes)
    assert all(one.finished is not None and one.finished > one.time for one in found.changes)


async def test_commits_and_merges_tell_the_same_story_without_addresses(
    backend: RecordedBackend, gitlab: Connector
) -> None:
    window = windows(backend).incident
    merges = content(await read(gitlab, query(gitlab, "gitlab_merge_requests", {}, window)))
    commits = content(await read(gitlab, query(gitlab, "gitlab_commits", {"ref": "main"}, window)))
    assert isinstance(merges, Changes)
    assert isinstance(commits, Changes)
    assert [one.revision for one in merges.changes] == [one.change_id for one in commits.changes] != []
    assert "@" not in merges.model_dump_json() + commits.model_dump_json()


async def test_what_is_not_there_or_not_for_the_token_is_said(backend: RecordedBackend, gitlab: Connector) -> None:
    window = windows(backend).incident
    branch = await read(gitlab, query(gitlab, "gitlab_commits", {"ref": "no-such-branch"}, window))
    wrong = gitlab_at(backend, "glpat-wrong")
    denied = await read(wrong, query(wrong, "gitlab_deployments", {}, window))
    elsewhere = gitlab_at(backend, backend.gitlab_token, ("bank/checkout",))
    missing = await read(elsewhere, query(elsewhere, "gitlab_deployments", {}, window))
    for connector in (wrong, elsewhere):
        await connector.aclose()
    codes = [one.outcome.error.code for one in (branch, denied, missing) if isinstance(one.outcome, Error)]
    assert codes == [FailureCode.INVALID_QUERY, FailureCode.CAPABILITY_DENIED, FailureCode.CONTEXT_MISMATCH]
