"""What the recorded incident promises, whatever its story."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import httpx2
import pytest

from inquest.domain.value import epoch_ms
from inquest.domain.window import LOOKBACK
from inquest.scenarios.generate.checkout_pool import generate
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Logs, Story, logs_of, story_of
from inquest.scenarios.pack.read import read_folder
from inquest.scenarios.pack.write import write_folder
from inquest.scenarios.prometheus.alerts import active_alerts
from tests.scenarios.generate.variations import (
    MINUTE,
    SEEDS,
    drawn,
    error_ratio,
    onset,
    recording,
    samples,
    seeds_of,
    values,
)
from tests.scenarios.real_prometheus import needs_prometheus, running_prometheus

pytestmark = pytest.mark.parametrize("seed", SEEDS)


def test_the_same_seed_is_the_same_recording_to_the_byte(seed: int, tmp_path: Path) -> None:
    write_folder(generate(seed), tmp_path / "one")
    write_folder(recording(seed), tmp_path / "other")

    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert [(tmp_path / "one" / name).read_bytes() for name in files] == [
        (tmp_path / "other" / name).read_bytes() for name in files
    ]


def test_it_covers_the_window_of_an_investigation_and_its_baseline(seed: int) -> None:
    one = recording(seed)
    window = one.ends_at - (one.anchor - LOOKBACK)
    first = min(series.times[0] for series in one.series)
    assert first <= epoch_ms(one.anchor - LOOKBACK - window)
    logged = [stream.times[0] for stream in one.streams]
    assert (logs_of(seed) is Logs.NONE) is (logged == [])
    assert min(logged, default=0) <= epoch_ms(one.anchor - LOOKBACK - window) * 1_000_000


def test_the_alert_began_to_fire_exactly_when_its_rule_did(seed: int) -> None:
    one = recording(seed)
    (group,) = one.groups
    (alert,) = active_alerts(
        group.rules[0], group, samples(seed), now_ms=epoch_ms(one.ends_at), anchor_ms=epoch_ms(one.anchor)
    )
    (sent,) = json.loads(one.alert)["alerts"]

    assert alert.fired_at == one.anchor == datetime.fromisoformat(sent["startsAt"])
    assert alert.labels.items() <= sent["labels"].items()
    assert sent["labels"]["severity"] == "critical"
    assert sent["labels"]["cluster"] == drawn(seed).shop.cluster
    assert one.anchor - onset(seed) < 10 * MINUTE


def test_errors_are_rare_before_the_onset_and_many_after(seed: int) -> None:
    began, now = onset(seed), recording(seed).ends_at
    before = [value for _, value in values(seed, error_ratio(seed, Part.CHECKOUT), began - 120 * MINUTE, began)]
    after = [value for _, value in values(seed, error_ratio(seed, Part.CHECKOUT), now - MINUTE, now)]

    assert max(before) < 0.01
    assert min(after) > 0.15


def test_the_victim_suffers_later_than_checkout_and_the_others_not_at_all(seed: int) -> None:
    began, now = onset(seed), recording(seed).ends_at

    def crosses(part: Part) -> int | None:
        points = values(seed, error_ratio(seed, part), began - 120 * MINUTE, now)
        return next((at for at, value in points if value > 0.01), None)

    checkout, frontend = crosses(Part.CHECKOUT), crosses(Part.FRONTEND)
    assert checkout is not None
    assert frontend is not None
    assert epoch_ms(began) <= checkout
    assert frontend - checkout >= 30_000
    assert (crosses(Part.PAYMENTS), crosses(Part.SEARCH)) == (None, None)


def test_the_reindex_looks_like_a_cause_and_changes_nothing(seed: int) -> None:
    one, began, name = recording(seed), onset(seed), drawn(seed).shop.names[Part.SEARCH]
    cpu = f'max(rate(process_cpu_seconds_total{{job="{name}"}}[2m]))'
    before = values(seed, cpu, began - 30 * MINUTE, began - 15 * MINUTE)
    during = values(seed, cpu, began - MINUTE, began)

    assert f"CPU of {name}" in {herring.what for herring in one.header.truth.red_herrings}
    assert min(value for _, value in during) > 1.5 * max(value for _, value in before)


def test_the_truth_is_nowhere_in_what_is_served(seed: int) -> None:
    one = recording(seed)
    served = one.changes.model_dump_json() + one.alert.decode()
    assert one.header.truth.root_cause not in served
    assert all(herring.why_not not in served for herring in one.header.truth.red_herrings)
    assert story_of(seed).value not in served


def test_the_catalogue_says_what_checkout_calls(seed: int) -> None:
    names = drawn(seed).shop.names
    entries = {entry.name: entry for entry in recording(seed).header.services}

    assert set(entries) == set(names.values())
    assert entries[names[Part.CHECKOUT]].depends_on == (names[Part.PAYMENTS], names[Part.DATABASE])


def test_it_is_written_as_a_folder_and_read_back_the_same(seed: int, tmp_path: Path) -> None:
    write_folder(recording(seed), tmp_path)
    again, one = read_folder(tmp_path), recording(seed)

    assert (again.header, again.alert, again.groups) == (one.header, one.alert, one.groups)
    assert (again.metadata, again.changes) == (one.metadata, one.changes)
    assert again.streams == tuple(sorted(one.streams, key=lambda stream: stream.labels))
    assert again.series == tuple(sorted(one.series, key=lambda series: series.labels))


@pytest.mark.e2e
@needs_prometheus
def test_prometheus_takes_the_written_metrics_and_rules_and_raises_the_same_alert_ratio(
    seed: int, tmp_path: Path
) -> None:
    one = recording(seed)
    write_folder(one, tmp_path)
    promtool = shutil.which("promtool")
    assert promtool is not None
    subprocess.run([promtool, "check", "rules", tmp_path / "rules.yml"], check=True, capture_output=True, timeout=30)
    rule = one.groups[0].rules[0].expr

    with running_prometheus(tmp_path, (tmp_path / "metrics.om").read_text()) as url:
        asked = {"query": rule, "time": str(epoch_ms(one.ends_at) / 1000)}
        answer = httpx2.get(f"{url}/api/v1/query", params=asked, trust_env=False).json()

    (theirs,) = answer["data"]["result"]
    ours = values(seed, rule, one.ends_at, one.ends_at)
    assert float(theirs["value"][1]) == pytest.approx(ours[0][1], rel=1e-9)


def test_every_story_is_told_by_many_seeds(seed: int) -> None:
    assert len(seeds_of(story_of(seed), 3)) == 3
    assert {story_of(one) for one in SEEDS} == set(Story)
