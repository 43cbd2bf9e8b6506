"""What a storm sends, and how what it leaves is judged."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from bench.pace import Sent
from bench.posts import STORM_PODS, storm_post, storm_service
from bench.storm.__main__ import said
from bench.storm.judge import Judged, most_at_once
from bench.storm.soak import Sample, slope_per_hour
from bench.storm.soak import said as said_soak
from bench.storm.storm import Storm

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def fingerprints(labels: str, alerts: int = 2_000, groups: int = 20) -> set[str]:
    posts = (json.loads(storm_post(number, groups, "2026-03-01T12:00:00Z", labels)) for number in range(alerts))  # type: ignore[arg-type]
    return {alert["fingerprint"] for post in posts for alert in post["alerts"]}


def test_alerts_of_a_storm_repeat_or_are_each_one_of_its_own() -> None:
    assert len(fingerprints("pods")) == 20 * STORM_PODS
    assert len(fingerprints("random")) == 2_000


def test_a_post_of_a_storm_has_one_alert_of_the_group_whose_turn_it_is() -> None:
    for number, group in ((0, 0), (19, 19), (20, 0), (45, 5)):
        post = json.loads(storm_post(number, 20, "2026-03-01T12:00:00Z", "random"))
        assert [alert["labels"]["service"] for alert in post["alerts"]] == [storm_service(group)]


def test_a_storm_sends_all_of_its_alerts_however_late() -> None:
    pace = Storm(alerts=10_000, seconds=60, groups=20).pace
    assert (pace.posts, pace.most) == (10_000, 10_000)
    assert pace.overtime_s > 60


def test_what_overlaps_is_counted_and_what_follows_at_once_is_not() -> None:
    def span(begin: int, end: int | None) -> tuple[object, object]:
        return NOON + timedelta(seconds=begin), None if end is None else NOON + timedelta(seconds=end)

    assert most_at_once([span(0, 2), span(2, 4), span(4, 5)]) == 1
    assert most_at_once([span(0, 3), span(2, 4), span(2, 9), span(5, None)]) == 3
    assert most_at_once([]) == 0


def test_a_slope_is_that_of_the_line_through_the_samples() -> None:
    assert slope_per_hour([(0, 100), (1_800, 101), (3_600, 102)]) == pytest.approx(2)
    assert slope_per_hour([(5, 100)]) == 0


def test_how_tables_and_memory_grew_is_said_with_the_largest_first() -> None:
    tables = ({"alert": 2**20, "event": 0}, {"alert": 3 * 2**20, "event": 5 * 2**20})
    samples = [
        Sample(at=at, service_mb=60, worker_mb=90 + at / 3_600, tables=tables[at > 0]) for at in (0, 60, 120, 180)
    ]  # fmt: skip

    lines = said_soak(samples, Sent(statuses={"202": 7}, latencies_ms=(4.0,)))

    assert lines[0] == "soak: 3.0 min at 20 alerts/s: 7 accepted, 0 others, p99 4 ms"
    assert lines[1] == "  service 60 -> 60 MiB, second half +0.0 MiB/h"
    assert lines[2] == "  worker 90 -> 90 MiB, second half +1.0 MiB/h"
    assert lines[3].startswith("  tables +7.0 MiB, 1,048,576 bytes an alert: event 5.0, alert 2.0")


def test_what_is_wrong_is_said_line_by_line() -> None:
    judged = Judged(
        investigations=21, most_sampled=4, most_overlapping=5, reports=20, usd=1.5, p99_ms=1_234.5, wrong=("a: 1", "b: 2")
    )  # fmt: skip

    first, *rest = said(Storm(alerts=10_000, seconds=60, groups=20), judged).splitlines()

    assert first == (
        "storm, repeating alerts: 10,000 alerts in 60 s over 20 groups: 21 investigations, at most 5 running (of 4), "
        "20 reports, 1.50 of 5 USD, intake p99 1,234 ms (aim 250); 2 wrong"
    )
    assert rest == ["  WRONG a: 1", "  WRONG b: 2"]
