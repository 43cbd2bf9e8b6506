"""What the recorded incident promises, for several variations of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import httpx2
import pytest

from inquest.domain.value import epoch_ms
from inquest.domain.window import LOOKBACK
from inquest.scenarios.generate.checkout_pool import GROUP, generate
from inquest.scenarios.loki.lines import Lines
from inquest.scenarios.loki.logql import LogQuery
from inquest.scenarios.loki.logql import parse as parse_logql
from inquest.scenarios.pack.format import Scenario
from inquest.scenarios.pack.read import read_folder
from inquest.scenarios.pack.write import write_folder
from inquest.scenarios.prometheus.alerts import active_alerts
from inquest.scenarios.promql.evaluate import evaluate_range
from inquest.scenarios.promql.grid import every
from inquest.scenarios.promql.parse import parse
from inquest.scenarios.promql.samples import Samples
from tests.scenarios.real_prometheus import needs_prometheus, running_prometheus

SEEDS = (0, 1, 2)
MINUTE = timedelta(minutes=1)
RATIO = (
    'sum(rate(http_requests_total{{service="{0}",status=~"5.."}}[2m]))'
    ' / sum(rate(http_requests_total{{service="{0}"}}[2m]))'
)
TIMEOUT_LINES = '{service="checkout"} |= "timeout acquiring connection from pool after 5000 ms (in use 20/20)"'


@cache
def recording(seed: int) -> Scenario:
    return generate(seed)


@cache
def samples(seed: int) -> Samples:
    return Samples(recording(seed).series)


def onset(seed: int) -> datetime:
    began = recording(seed).header.truth.onset
    assert began is not None
    return began


def values(seed: int, expression: str, start: datetime, end: datetime) -> list[tuple[int, float]]:
    """All points of all series, by time."""
    grid = every(epoch_ms(start), epoch_ms(end), 30_000)
    matrix = evaluate_range(parse(expression), samples(seed), grid, horizon_ms=epoch_ms(end))
    return sorted(point for _, points in matrix.series for point in points)


def lines(seed: int, query: str, start: datetime, end: datetime) -> int:
    parsed = parse_logql(query)
    assert isinstance(parsed, LogQuery)
    held = Lines(recording(seed).streams)
    span = epoch_ms(start) * 1_000_000, epoch_ms(end) * 1_000_000
    return len(held.select(parsed, *span, limit=100_000, forward=True))


def test_the_same_seed_is_the_same_recording_and_another_is_another() -> None:
    assert generate(1) == recording(1)
    assert generate(1) != recording(2)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_covers_the_window_of_an_investigation_and_its_baseline(seed: int) -> None:
    one = recording(seed)
    window = one.ends_at - (one.anchor - LOOKBACK)
    first = min(series.times[0] for series in one.series)
    assert first <= epoch_ms(one.anchor - LOOKBACK - window)
    assert min(stream.times[0] for stream in one.streams) <= epoch_ms(one.anchor - LOOKBACK - window) * 1_000_000


@pytest.mark.parametrize("seed", SEEDS)
def test_the_alert_began_to_fire_exactly_when_its_rule_did(seed: int) -> None:
    one = recording(seed)
    (alert,) = active_alerts(
        GROUP.rules[0], GROUP, samples(seed), now_ms=epoch_ms(one.ends_at), anchor_ms=epoch_ms(one.anchor)
    )
    (sent,) = json.loads(one.alert)["alerts"]

    assert alert.fired_at == one.anchor == datetime.fromisoformat(sent["startsAt"])
    assert alert.labels.items() <= sent["labels"].items()
    assert sent["labels"]["severity"] == "critical"
    assert one.anchor - onset(seed) < 10 * MINUTE


@pytest.mark.parametrize("seed", SEEDS)
def test_errors_are_rare_before_the_onset_and_many_after(seed: int) -> None:
    began, now = onset(seed), recording(seed).ends_at
    before = [value for _, value in values(seed, RATIO.format("checkout"), began - 120 * MINUTE, began)]
    after = [value for _, value in values(seed, RATIO.format("checkout"), now - MINUTE, now)]

    assert max(before) < 0.01
    assert min(after) > 0.25


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pool_is_full_at_the_onset_and_never_before(seed: int) -> None:
    began, now = onset(seed), recording(seed).ends_at
    used = "db_pool_connections_in_use / db_pool_connections_max"
    before = [value for _, value in values(seed, used, began - 235 * MINUTE, began - MINUTE)]
    after = [value for _, value in values(seed, used, began + 2 * MINUTE, now)]

    assert max(before) < 1
    assert min(after) == 1
    assert values(seed, "max(db_pool_connections_max)", began - 60 * MINUTE, began - 60 * MINUTE)[0][1] == 40
    assert values(seed, "max(db_pool_connections_max)", now, now)[0][1] == 20


@pytest.mark.parametrize("seed", SEEDS)
def test_the_victim_suffers_later_than_the_culprit_and_the_others_not_at_all(seed: int) -> None:
    began, now = onset(seed), recording(seed).ends_at

    def crosses(service: str) -> int | None:
        points = values(seed, RATIO.format(service), began - 120 * MINUTE, now)
        return next((at for at, value in points if value > 0.01), None)

    checkout, frontend = crosses("checkout"), crosses("frontend")
    assert checkout is not None
    assert frontend is not None
    assert epoch_ms(began) <= checkout
    assert frontend - checkout >= 30_000
    assert (crosses("payments"), crosses("search")) == (None, None)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_timeout_lines_are_new_with_the_onset(seed: int) -> None:
    began, now = onset(seed), recording(seed).ends_at
    assert lines(seed, TIMEOUT_LINES, began - 235 * MINUTE, began) == 0
    assert lines(seed, TIMEOUT_LINES, began, now) > 50
    # An error line alone tells nothing: some are there every day.
    assert lines(seed, '{service="checkout"} |= "level=error"', began - 235 * MINUTE, began) > 5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_culprit_is_merged_and_deployed_minutes_before_the_onset(seed: int) -> None:
    one, began = recording(seed), onset(seed)
    checkout = next(item for item in one.changes.projects if item.project["path_with_namespace"] == "shop/checkout")
    number = int(one.header.truth.culprit_change.partition("!")[2])
    (merged,) = [item for item in checkout.merge_requests if item.merge_request["iid"] == number]
    deployed = [item for item in checkout.deployments if item["sha"] == merged.merge_request["merge_commit_sha"]]
    finished = datetime.fromisoformat(str(deployed[0]["updated_at"]))

    assert "-    pool_size: 40\n+    pool_size: 20" in str(merged.diffs[0]["diff"])
    assert timedelta(0) < began - finished < 5 * MINUTE
    assert merged.merge_request["title"] == "Raise worker concurrency for the spring sale"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_red_herrings_are_there_and_harmless(seed: int) -> None:
    one, began = recording(seed), onset(seed)
    payments = next(item for item in one.changes.projects if item.project["name"] == "payments")
    finished = datetime.fromisoformat(str(payments.deployments[0]["updated_at"]))
    cpu = 'max(rate(process_cpu_seconds_total{service="search"}[2m]))'
    before = values(seed, cpu, began - 60 * MINUTE, began - 15 * MINUTE)
    during = values(seed, cpu, began, one.ends_at)

    assert finished in {herring.at for herring in one.header.truth.red_herrings}
    assert 30 * MINUTE < began - finished < 50 * MINUTE
    assert min(value for _, value in during) > 1.5 * max(value for _, value in before)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_truth_is_nowhere_in_what_is_served(seed: int) -> None:
    one = recording(seed)
    served = one.changes.model_dump_json() + one.alert.decode()
    assert one.header.truth.root_cause not in served
    assert all(herring.why_not not in served for herring in one.header.truth.red_herrings)


def test_it_is_written_as_a_folder_and_read_back_the_same(tmp_path: Path) -> None:
    write_folder(recording(0), tmp_path)
    again = read_folder(tmp_path)

    assert (again.header, again.alert, again.groups) == (recording(0).header, recording(0).alert, recording(0).groups)
    assert (again.metadata, again.changes) == (recording(0).metadata, recording(0).changes)
    assert again.streams == tuple(sorted(recording(0).streams, key=lambda one: one.labels))
    assert again.series == tuple(sorted(recording(0).series, key=lambda one: one.labels))


@pytest.mark.e2e
@needs_prometheus
def test_prometheus_takes_the_written_metrics_and_rules_and_raises_the_same_alert_ratio(tmp_path: Path) -> None:
    write_folder(recording(0), tmp_path)
    promtool = shutil.which("promtool")
    assert promtool is not None
    subprocess.run([promtool, "check", "rules", tmp_path / "rules.yml"], check=True, capture_output=True, timeout=30)
    now = epoch_ms(recording(0).ends_at)

    with running_prometheus(tmp_path, (tmp_path / "metrics.om").read_text()) as url:
        asked = {"query": GROUP.rules[0].expr, "time": str(now / 1000)}
        answer = httpx2.get(f"{url}/api/v1/query", params=asked, trust_env=False).json()

    (theirs,) = answer["data"]["result"]
    ours = values(0, GROUP.rules[0].expr, recording(0).ends_at, recording(0).ends_at)
    assert float(theirs["value"][1]) == pytest.approx(ours[0][1], rel=1e-9)
