"""The same requests to the recorded backend and to Debian's Prometheus: the same status, type and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import httpx2
import pytest

from inquest.domain.value import from_epoch_ms
from inquest.scenarios.server import RecordedBackend, start
from tests.scenarios.builders import scenario
from tests.scenarios.promql.recording import START_MS, open_metrics, samples_of
from tests.scenarios.real_prometheus import needs_prometheus, running_prometheus

pytestmark = [pytest.mark.e2e, needs_prometheus]
T = START_MS // 1000 + 1200


@dataclass(frozen=True)
class Both:
    theirs: str
    ours: RecordedBackend


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    samples = samples_of(21)
    recorded = scenario(series=samples.series)
    folder = tmp_path_factory.mktemp("prometheus")
    present = recorded.ends_at
    with (
        running_prometheus(folder, open_metrics(samples)) as url,
        # Not moved: the present of the recording stays where it is.
        start(recorded, now=present + timedelta(0)) as backend,
    ):
        assert from_epoch_ms(START_MS) < present
        yield Both(url, backend)


REQUESTS = (
    f"query?query=pool_in_use&time={T}",
    f"query?query=pool_in_use&time={T}.25",
    f"query?query=pool_max[1m]&time={T}",
    f"query?query=odd*1&time={T}",
    f"query?query=1e-7&time={T}.1",
    f"query?query=1/3&time={T}",
    f"query?query=1e22&time={T}",
    f"query?query=nosuch&time={T}",
    f"query?query=pool_in_use&time={T}&timeout=10s",
    "query?query=pool_in_use&time=2023-11-14T22:33:20Z",
    "query?query=pool_in_use&time=2023-11-14T22:33:20.5%2B01:00",
    f"query_range?query=pool_in_use&start={T}&end={T + 600}&step=60",
    f"query_range?query=pool_in_use&start={T}&end={T + 600}&step=1m30s",
    f"query_range?query=rate(http_requests_total[5m])&start={T}.5&end={T + 600}&step=60.25",
    f"query_range?query=1&start={T}&end={T + 2}&step=1.5",
    f"query_range?query=nosuch&start={T}&end={T + 2}&step=1",
    # The whole recording: inside a gap Prometheus still lists a series whose chunk spans it.
    f"series?match[]=pool_max&start={T - 1200}&end={T + 1200}",
    f"series?match[]=pool_max&match[]=odd&start={T - 1200}&end={T + 1200}",
    f"series?match[]=nosuch&start={T}&end={T + 60}",
    f"labels?start={T}&end={T + 60}",
    f"labels?match[]=odd&start={T}&end={T + 60}",
    f"label/service/values?start={T}&end={T + 60}",
    f"label/nosuch/values?start={T}&end={T + 60}",
    # Refusals
    "query",
    "query?query=",
    "query?query=x&time=foo",
    "query?query=x&timeout=foo",
    "query?query=rate(x",
    "query?query=1%2B",
    "query?query={}",
    "query?query=nosuch(x)",
    "query?query=sum(rate(x))",
    "query?query=rate(x[5m],1)",
    f"query?query=-{{__name__=~%22pool.*%22}}&time={T}",
    f"query?query=rate({{__name__=~%22pool.*%22}}[5m])&time={T}",
    f"query?query=pool_max - on() pool_max&time={T}",
    "query_range?query=x&start=1&end=2",
    "query_range?query=x&start=1&end=2&step=0",
    "query_range?query=x&start=1&end=2&step=-1",
    "query_range?query=x&start=1&end=20000&step=1",
    "query_range?query=x&start=&end=20000&step=1",
    "query_range?query=x&start=yesterday&end=20000&step=1",
    "query_range?query=x&start=2&end=1&step=1",
    "query_range?query=x[5m]&start=1&end=2&step=1",
    "query_range?query=x&start=1&end=2&step=99999999999999999999",
    "series",
    "series?match[]={}",
    "series?match[]=x{",
    "series?match[]=x&start=foo",
    "label/a-b/values",
    "metadata?limit=foo",
    "rules",
    "rules?type=foo",
    "alerts",
    "nosuch",
)


@pytest.mark.parametrize("request_line", REQUESTS)
def test_a_request_gets_the_status_type_and_bytes_that_prometheus_gives(both: Both, request_line: str) -> None:
    theirs = httpx2.get(f"{both.theirs}/api/v1/{request_line}", trust_env=False)
    ours = httpx2.get(f"{both.ours.prometheus_url}/api/v1/{request_line}", trust_env=False)

    assert _seen(ours) == _seen(theirs)


@pytest.mark.parametrize(("method", "path"), [("POST", "rules"), ("DELETE", "query"), ("PUT", "labels")])
def test_a_wrong_method_is_refused_as_prometheus_refuses_it(both: Both, method: str, path: str) -> None:
    theirs = httpx2.request(method, f"{both.theirs}/api/v1/{path}", trust_env=False)
    ours = httpx2.request(method, f"{both.ours.prometheus_url}/api/v1/{path}", trust_env=False)

    assert (*_seen(ours), ours.headers["allow"]) == (*_seen(theirs), theirs.headers["allow"])


def test_a_query_in_a_form_is_answered_as_prometheus_answers_it(both: Both) -> None:
    def posted(url: str) -> httpx2.Response:
        form = {"query": "pool_max", "time": str(T)}
        return httpx2.post(f"{url}/api/v1/query?time=1", data=form, trust_env=False)

    assert _seen(posted(both.ours.prometheus_url)) == _seen(posted(both.theirs))


def _seen(response: httpx2.Response) -> tuple[int, str, str]:
    return response.status_code, response.headers["content-type"], response.text
