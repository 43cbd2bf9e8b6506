"""The demo's own samples in the real Prometheus: the recorded backend answers as it does, on a fresh seed each run."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest

from inquest.domain.value import epoch_ms
from inquest.scenarios.bounds import LOOKBACK_MS
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.pack import openmetrics
from inquest.scenarios.pack.format import Scenario
from inquest.scenarios.server import RecordedBackend, start
from tests.scenarios.generate.expressions import KINDS, Asker
from tests.scenarios.real_prometheus import needs_prometheus, running_prometheus

pytestmark = [pytest.mark.e2e, needs_prometheus]

PACK = "checkout_pool"
EACH = 10
"""Expressions of a kind, each asked as a range and at a moment."""
RELATIVE = 1e-9
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
FRESH = secrets.randbelow(2**31)
"""Never fitted to: it is printed, and a failure names it."""

Answer = dict[tuple[tuple[str, str], ...], dict[int, float]]


@dataclass(frozen=True)
class Both:
    """The same samples at the real server and at the recorded one."""

    seed: int
    scenario: Scenario
    theirs: str
    ours: RecordedBackend

    def ask(self, endpoint: str, parameters: dict[str, Any]) -> tuple[Answer, Answer]:
        return _asked(self.theirs, endpoint, parameters), _asked(self.ours.prometheus_url, endpoint, parameters)


def recorded(seed: int) -> Scenario:
    """Give the recording without staleness marks: a backfill cannot write them."""
    scenario = open_scenario(PACK, seed=seed)
    return replace(scenario, series=tuple(replace(one, stale=()) for one in scenario.series))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    scenario = recorded(FRESH)
    text = "".join(openmetrics.write(scenario.series, scenario.metadata))
    with (
        running_prometheus(tmp_path_factory.mktemp("prometheus"), text) as theirs,
        start(scenario, now=scenario.ends_at) as ours,  # not moved: the present of the recording stays where it is
    ):
        yield Both(FRESH, scenario, theirs, ours)


def test_the_seed_is_told(both: Both, say: Callable[[str], None]) -> None:
    say(f"the demo's samples of seed {both.seed}: {sum(len(one.times) for one in both.scenario.series)}")
    assert both.scenario.series


@pytest.mark.parametrize("kind", KINDS)
def test_the_recorded_backend_answers_as_prometheus_does(both: Both, kind: str) -> None:
    chance = random.Random(f"{both.seed}/{kind}")  # noqa: S311 - a failure must be repeatable
    asker = Asker(both.scenario, chance)
    seen = 0
    for _ in range(EACH):
        expression = asker.draw(kind)
        for endpoint, moments in (
            ("query_range", _range(both.scenario, chance)),
            ("query", _moment(both.scenario, chance)),
        ):
            theirs, ours = both.ask(endpoint, {"query": expression, **moments})
            where = f"seed {both.seed}: {expression} {endpoint} {moments}"
            assert ours.keys() == theirs.keys(), where
            for labels, points in theirs.items():
                assert ours[labels].keys() == points.keys(), f"{where} {labels}"
                wrong = {
                    at: (ours[labels][at], value) for at, value in points.items() if not _same(ours[labels][at], value)
                }
                assert wrong == {}, f"{where} {labels}"
                seen += len(points)
    assert seen > EACH, f"seed {both.seed}: nothing of {kind} was answered"


def _range(scenario: Scenario, chance: random.Random) -> dict[str, str]:
    """Draw a stretch of the recording: the incident, anywhere, or where a series begins or ends."""
    present, first = epoch_ms(scenario.ends_at), min(one.times[0] for one in scenario.series)
    step = chance.choice([15_000, 30_000, 47_500, MINUTE_MS])
    edges = [at for one in scenario.series for at in (one.times[0], one.times[-1]) if first + HOUR_MS < at < present]
    anywhere = present - chance.randrange(present - first)
    edge = chance.choice(edges or [anywhere]) + chance.randrange(LOOKBACK_MS + MINUTE_MS)
    end = min(chance.choice([present, present - 10 * MINUTE_MS, anywhere, edge, edge]), present)
    start = end - step * chance.randrange(5, 60)
    return {"start": _seconds(start), "end": _seconds(end), "step": _seconds(step)}


def _moment(scenario: Scenario, chance: random.Random) -> dict[str, str]:
    return {"time": _seconds(epoch_ms(scenario.ends_at) - chance.randrange(30 * MINUTE_MS))}


def _seconds(ms: int) -> str:
    return f"{ms // 1000}.{ms % 1000:03d}"


def _asked(url: str, endpoint: str, parameters: dict[str, Any]) -> Answer:
    answer = httpx2.get(f"{url}/api/v1/{endpoint}", params=parameters, timeout=60, trust_env=False)
    assert answer.status_code == httpx2.codes.OK, f"{url} {parameters}: {answer.text[:500]}"
    found = answer.json()["data"]
    if found["resultType"] == "scalar":
        return {(): _points([found["result"]])}
    return {
        tuple(sorted(series["metric"].items())): _points(series.get("values") or [series["value"]])
        for series in found["result"]
    }


def _points(written: list[tuple[float, str]]) -> dict[int, float]:
    return {round(at * 1000): float(value) for at, value in written}


def _same(ours: float, theirs: float) -> bool:
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return math.isclose(ours, theirs, rel_tol=RELATIVE, abs_tol=0.0)
