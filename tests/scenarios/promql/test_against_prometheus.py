"""The evaluator against Debian's own Prometheus, over the same samples."""

from __future__ import annotations

import json
import math
import random
import secrets
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from inquest.scenarios.promql.evaluate import evaluate_range
from inquest.scenarios.promql.grid import Grid, every
from inquest.scenarios.promql.parse import parse
from inquest.scenarios.promql.refusals import ExecutionFailed
from inquest.scenarios.promql.samples import Samples
from tests.scenarios.promql.recording import INTERVAL_MS, SCRAPES, START_MS, open_metrics, samples_of
from tests.scenarios.real_prometheus import needs_prometheus, running_prometheus

pytestmark = [pytest.mark.e2e, needs_prometheus]
END_MS = START_MS + SCRAPES * INTERVAL_MS
FOREVER_MS = 2 * END_MS
_FRESH = secrets.randbelow(2**31)  # never fitted to: a failure names it

EXPRESSIONS = (
    "http_requests_total",
    'http_requests_total{status=~"5..",pod!="a"}',
    '{__name__=~"pool_.*",service!~"front.*"}',
    "pool_in_use offset {offset}",
    "pool_in_use offset -{offset}",
    "rate(http_requests_total[{range}])",
    "increase(http_requests_total[{range}])",
    "rate(http_requests_total[{range}] offset {offset})",
    "irate(http_requests_total[{range}])",
    "delta(pool_in_use[{range}])",
    "avg_over_time(pool_in_use[{range}])",
    "min_over_time(pool_in_use[{range}])",
    "max_over_time(pool_in_use[{range}])",
    "sum_over_time(pool_in_use[{range}])",
    "count_over_time(pool_in_use[{range}])",
    "last_over_time(pool_in_use[{range}])",
    "present_over_time(pool_in_use[{range}])",
    "stddev_over_time(pool_in_use[{range}])",
    "stdvar_over_time(pool_in_use[{range}])",
    "min_over_time(odd[{range}])",
    "max_over_time(odd[{range}])",
    "sum(pool_in_use)",
    "sum by () (pool_in_use)",
    "sum without () (pool_in_use)",
    "nosuch",
    "sum(nosuch)",
    "rate(nosuch[{range}])",
    "pool_in_use + nosuch",
    "max(nosuch) > 0",
    "histogram_quantile(0.9, sum by (le) (rate(nosuch_bucket[{range}])))",
    "sum(rate(http_requests_total[{range}])) by (service) * 60",
    "pool_in_use offset 1h",
    "sum by (service) (pool_in_use)",
    "sum without (pod, instance) (pool_in_use)",
    "avg by (service) (pool_in_use)",
    "min by (pod) (pool_in_use)",
    "max by (pod, nosuch) (pool_in_use)",
    "count by (service, status) (http_requests_total)",
    'count by (__name__) ({{__name__=~"pool.*"}})',
    "sum by (service) (rate(http_requests_total[{range}]))",
    "pool_in_use * 2.5",
    "-pool_in_use",
    "1 / pool_in_use",
    "odd / 0",
    "odd % 2",
    "odd ^ 2",
    "2 ^ (pool_in_use / 3)",
    "pool_in_use > 10",
    "pool_in_use <= bool 10",
    "5 < pool_in_use",
    "pool_in_use == pool_in_use",
    "odd != odd",
    "2 > bool 1",
    "1 + 2 * 3 ^ 2 % 4",
    "pool_in_use / pool_max",
    "pool_in_use > pool_max / 2",
    "pool_in_use >= bool ignoring (pod) pool_in_use",
    "pool_in_use - on (service, pod) pool_max",
    "sum by (service) (pool_in_use) / on (service) sum by (service) (pool_max)",
    (
        'sum by (service) (rate(http_requests_total{{status=~"5.."}}[{range}]))'
        " / sum by (service) (rate(http_requests_total[{range}])) > 0.05"
    ),
    "histogram_quantile(0.95, sum by (le, service) (rate(latency_bucket[{range}])))",
    "histogram_quantile(0, latency_bucket)",
    "histogram_quantile(1, latency_bucket)",
    "histogram_quantile(1.5, latency_bucket)",
    'histogram_quantile(0.5, latency_bucket{{le!="+Inf"}})',
    "http_requests_total - on (service) http_requests_total",
    "pool_in_use - ignoring (pod, instance) pool_max",
    'rate({{__name__=~"pool.*"}}[{range}])',
    '-{{__name__=~"pool.*"}}',
    "sum by (service) (pool_in_use) - ignoring (pod) sum by (service) (pool_max)",
)


@dataclass(frozen=True)
class Loaded:
    seed: int
    samples: Samples
    url: str


@pytest.fixture(scope="module", params=[11, 12, _FRESH], ids=["seed-11", "seed-12", "fresh"])
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    samples = samples_of(request.param)
    with running_prometheus(tmp_path_factory.mktemp("prometheus"), open_metrics(samples)) as url:
        yield Loaded(request.param, samples, url)


def _ask(url: str, parameters: dict[str, Any]) -> dict[str, Any]:
    address = f"{url}/api/v1/query_range?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(address, timeout=30) as reply:  # noqa: S310 - our own loopback server
            answer: dict[str, Any] = json.load(reply)
    except urllib.error.HTTPError as refused:
        answer = json.load(refused)
    return answer


def _theirs(answer: dict[str, Any]) -> dict[tuple[tuple[str, str], ...], dict[int, float]]:
    return {
        tuple(sorted(series["metric"].items())): {round(at * 1000): float(value) for at, value in series["values"]}
        for series in answer["data"]["result"]
    }


def _ours(expression: str, samples: Samples, grid: Grid) -> dict[tuple[tuple[str, str], ...], dict[int, float]]:
    matrix = evaluate_range(parse(expression), samples, grid, horizon_ms=FOREVER_MS)
    return {labels: dict(points) for labels, points in matrix.series}


def _reason(error: str) -> str:
    """Name the refusal. Prometheus meets an ambiguous pairing time by time, we side by side: both are one reason."""
    ambiguous = ("found duplicate series for the match group", "multiple matches for labels")
    return "ambiguous pairing" if error.startswith(ambiguous) else error


def _same(ours: float, theirs: float) -> bool:
    return (math.isnan(ours) and math.isnan(theirs)) or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("template", EXPRESSIONS)
def test_a_range_query_agrees_with_prometheus(loaded: Loaded, template: str) -> None:
    chance = random.Random(f"{loaded.seed}/{template}")  # noqa: S311 - a failure must be repeatable
    expression = template
    if "{range}" in template or "{offset}" in template or "{{" in template:
        expression = template.format(
            range=chance.choice(["30s", "1m", "5m", "7m13s", "20m"]), offset=chance.choice(["15s", "3m", "10m"])
        )
    step_ms = chance.choice([1_000, 15_000, 17_500, 60_000])
    start_ms = START_MS + chance.choice([0, 0, 0, 1, 500, 7_001])
    end_ms = start_ms + min(END_MS - START_MS + 400_000, step_ms * 170)
    answer = _ask(
        loaded.url,
        {"query": expression, "start": start_ms / 1000, "end": end_ms / 1000, "step": step_ms / 1000},
    )
    where = f"{expression} seed {loaded.seed} start {start_ms} step {step_ms}"
    grid = every(start_ms, end_ms, step_ms)
    if answer["status"] == "error":
        with pytest.raises(ExecutionFailed) as refused:
            evaluate_range(parse(expression), loaded.samples, grid, horizon_ms=FOREVER_MS)
        assert _reason(str(refused.value)) == _reason(answer["error"]), where
        return
    theirs, ours = _theirs(answer), _ours(expression, loaded.samples, grid)
    assert ours.keys() == theirs.keys(), where
    for labels, points in theirs.items():
        assert ours[labels].keys() == points.keys(), f"{where} {labels}"
        wrong = {at: (ours[labels][at], value) for at, value in points.items() if not _same(ours[labels][at], value)}
        assert wrong == {}, f"{where} {labels}"
