from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from inquest.errors import ConfigurationError
from inquest.scenarios import bounds
from inquest.scenarios.http import Reply, Request
from inquest.scenarios.journal import RequestRecord
from inquest.scenarios.pack.changes import Changes
from inquest.scenarios.pack.format import Scenario
from inquest.scenarios.pack.write import write_folder
from inquest.scenarios.prometheus.api import PrometheusApi
from inquest.scenarios.server import RECORDED_GITLAB_TOKEN, RecordedBackend, main, start
from tests.scenarios.builders import ask, gauge, scenario, stream
from tests.scenarios.gitlab.test_api import PROJECT

LATER = datetime(2026, 6, 1, 8, 30, tzinfo=UTC)


def recorded() -> Scenario:
    return scenario(
        series=[gauge("up", {-30: 1.0, -15: 1.0, 0: 0.0, 15: 1.0}, job="checkout")],
        streams=[stream([(-5, "hello")], app="shop")],
        changes=Changes(projects=(PROJECT,)),
    )


@pytest.fixture
def backend() -> Iterator[RecordedBackend]:
    with start(recorded(), now=LATER) as running:
        yield running


def test_three_servers_answer_with_the_times_moved_to_now(backend: RecordedBackend) -> None:
    value = ask(f"{backend.prometheus_url}/api/v1/query", {"query": "up"}).json()["data"]["result"][0]["value"]
    streams = ask(f"{backend.loki_url}/loki/api/v1/query_range", {"query": '{app="shop"}'}).json()["data"]["result"]
    project = ask(f"{backend.gitlab_url}/api/v4/projects/shop%2Fcheckout", PRIVATE_TOKEN=backend.gitlab_token).json()

    assert (int(value[0]), value[1]) == (int(LATER.timestamp()), "0")
    assert streams[0]["values"] == [[str(int(LATER.timestamp() - 5) * 10**9), "hello"]]
    assert project["id"] == 42
    assert json.loads(backend.alert)["alerts"][0]["startsAt"] == "2026-06-01T08:28:00Z"
    assert backend.scenario.anchor == LATER - timedelta(minutes=2)


def test_a_server_that_is_said_to_be_unreachable_answers_503_and_the_others_as_ever() -> None:
    scenario = recorded()
    header = scenario.header.but(unreachable=("loki",))
    with start(replace(scenario, header=header), now=LATER) as running:
        answers = [
            ask(f"{url}/{path}").status_code
            for url, path in (
                (running.loki_url, "ready"),
                (running.loki_url, "loki/api/v1/labels"),
                (running.prometheus_url, "-/ready"),
            )
        ]
        assert [record.server for record in running.journal] == ["loki", "loki", "prometheus"]

    assert answers == [503, 503, 200]


def test_replies_have_the_headers_of_the_real_server(backend: RecordedBackend) -> None:
    answer = ask(f"{backend.prometheus_url}/api/v1/query", {"query": "up"})
    missing = ask(f"{backend.prometheus_url}/api/v1/nosuch")

    assert sorted(answer.headers) == ["content-length", "content-type", "date"]
    assert answer.headers["content-type"] == "application/json"
    assert missing.headers["content-type"] == "text/plain; charset=utf-8"
    assert missing.headers["x-content-type-options"] == "nosniff"


def test_every_request_is_journalled_in_order_with_its_status_and_no_token(backend: RecordedBackend) -> None:
    token = backend.gitlab_token
    ask(f"{backend.prometheus_url}/api/v1/query", {"query": "up{"})
    httpx2.post(f"{backend.prometheus_url}/api/v1/query", data={"query": "up"}, trust_env=False)
    ask(f"{backend.gitlab_url}/api/v4/projects/42", {"private_token": token, "page": 2})
    ask(f"{backend.gitlab_url}/api/v4/projects/42", Authorization=f"Bearer {token}")
    ask(f"http://127.0.0.1:{backend.port}/elsewhere?x=1")

    def record(ordinal: int, server: str, path: str, status: int, **more: str) -> RequestRecord:
        fields = {"method": "GET", "query": "", "form": "", "credential": "none", **more}
        return RequestRecord.model_validate(
            {"ordinal": ordinal, "server": server, "path": path, "status": status, **fields}
        )

    query = "/prometheus/api/v1/query"
    project = "/gitlab/api/v4/projects/42"
    assert backend.journal == (
        record(1, "prometheus", query, 400, query="query=up%7B"),
        record(2, "prometheus", query, 200, method="POST", form="query=up"),
        record(3, "gitlab", project, 200, query="private_token=***&page=2"),
        record(4, "gitlab", project, 200, credential="bearer"),
        record(5, "", "/elsewhere", 404, query="x=1"),
    )
    assert token not in repr(backend.journal)


def test_a_body_above_the_cap_and_too_many_parameters_are_refused(backend: RecordedBackend) -> None:
    large = b"query=" + b"x" * bounds.MAX_REQUEST_BODY_BYTES
    many = "&".join(["match[]=up"] * (bounds.MAX_PARAMETERS + 1))
    headers = {"content-type": "application/x-www-form-urlencoded"}
    posted = httpx2.post(f"{backend.prometheus_url}/api/v1/query", content=large, headers=headers, trust_env=False)

    assert posted.status_code == 413
    assert ask(f"{backend.prometheus_url}/api/v1/series?{many}").status_code == 400
    assert [one.status for one in backend.journal] == [413, 400]


def test_many_requests_at_once_are_all_answered_and_journalled(backend: RecordedBackend) -> None:
    def query(_: int) -> int:
        return ask(f"{backend.prometheus_url}/api/v1/query", {"query": "up"}).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(query, range(64)))

    assert statuses == [200] * 64
    assert [one.ordinal for one in backend.journal] == list(range(1, 65))


def test_an_error_that_nobody_expected_is_journalled_as_a_500(
    monkeypatch: pytest.MonkeyPatch, backend: RecordedBackend
) -> None:
    def broken(_self: PrometheusApi, _request: Request) -> Reply:
        raise ZeroDivisionError

    monkeypatch.setattr(PrometheusApi, "answer", broken)
    with start(recorded(), now=LATER) as running:
        assert ask(f"{running.prometheus_url}/api/v1/query").status_code == 500
        assert [one.status for one in running.journal] == [500]


def test_stopping_closes_the_port_and_may_be_done_twice() -> None:
    backend = start(recorded(), now=LATER)
    backend.stop()
    backend.stop()
    with pytest.raises(httpx2.ConnectError):
        ask(f"{backend.prometheus_url}/-/ready")


def test_a_taken_port_is_a_configuration_error(backend: RecordedBackend) -> None:
    with pytest.raises(ConfigurationError, match=f"port {backend.port} on 127.0.0.1 cannot be listened on"):
        start(recorded(), now=LATER, port=backend.port)


async def test_it_serves_a_client_in_the_event_loop_of_the_same_process(backend: RecordedBackend) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        reply = await client.get(f"{backend.prometheus_url}/-/ready")
    assert reply.text == "Prometheus Server is Ready.\n"


def test_gitlabs_requests_a_minute_can_be_lowered() -> None:
    with start(recorded(), now=LATER, gitlab_requests_per_minute=1) as backend:
        url = f"{backend.gitlab_url}/api/v4/version"
        statuses = [ask(url, PRIVATE_TOKEN=backend.gitlab_token).status_code for _ in range(2)]
    assert statuses == [200, 429]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nosuch"], "neither a built-in recording"), (["checkout_pool", "--now", "noon"], "--now: noon is not")],
)
def test_wrong_usage_ends_with_3_and_says_what_is_wrong(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 3
    assert said in capsys.readouterr().err


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    write_folder(recorded(), tmp_path / "pack")
    command = [sys.executable, "-m", "inquest.scenarios.server", str(tmp_path / "pack")]
    options = ["--journal", str(tmp_path / "requests.jsonl"), "--alert", str(tmp_path / "alert.json")]
    with subprocess.Popen(
        [*command, *options, "--now", "2026-06-01T08:30:00Z"], stdout=subprocess.PIPE, text=True
    ) as running:
        yield running
        running.kill()


def test_a_killed_process_has_journalled_every_answer_that_was_seen(
    process: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert process.stdout is not None
    addresses = json.loads(process.stdout.readline())
    for page in range(3):
        ask(f"{addresses['gitlab']}/api/v4/version", {"page": page}, PRIVATE_TOKEN=RECORDED_GITLAB_TOKEN)
    process.kill()
    process.wait(timeout=30)

    records = [
        RequestRecord.model_validate_json(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()
    ]
    assert [(one.ordinal, one.query, one.status) for one in records] == [
        (1, "page=0", 200),
        (2, "page=1", 200),
        (3, "page=2", 200),
    ]
    assert (addresses["now"], addresses["anchor"]) == ("2026-06-01T08:30:00.000Z", "2026-06-01T08:28:00.000Z")
    assert json.loads((tmp_path / "alert.json").read_bytes())["alerts"][0]["startsAt"] == "2026-06-01T08:28:00Z"


def test_a_terminated_process_ends_in_order(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert ask(f"{json.loads(process.stdout.readline())['loki']}/ready").status_code == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) in (0, -signal.SIGTERM)
