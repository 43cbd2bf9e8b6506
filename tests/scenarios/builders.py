"""Small recordings for tests, and GETs of a running one."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import httpx2

from inquest.domain.diagnosis import Verdict
from inquest.domain.value import Json, epoch_ms
from inquest.scenarios.http import Request
from inquest.scenarios.loki.lines import Stream
from inquest.scenarios.pack.changes import Changes
from inquest.scenarios.pack.format import Clock, Header, MetricMetadata, Scenario, Truth
from inquest.scenarios.pack.rules import RuleGroup
from inquest.scenarios.promql.samples import Series, labels_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NOW_MS = epoch_ms(NOW)
NOW_S = NOW_MS // 1000


class Monotonic:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def gauge(name: str, points: Mapping[int, float], **labels: str) -> Series:
    """A series whose points are given in seconds relative to NOW."""
    at = sorted(points)
    return Series(
        labels_of({"__name__": name, **labels}),
        array("q", [NOW_MS + second * 1000 for second in at]),
        array("d", [points[second] for second in at]),
    )


def stream(lines: Sequence[tuple[float, str]], **labels: str) -> Stream:
    """A stream whose lines are given in seconds relative to NOW, oldest first."""
    times = array("q", [NOW_MS * 1_000_000 + round(second * 1_000_000_000) for second, _ in lines])
    return Stream(labels_of(labels), times, tuple(line for _, line in lines))


def header() -> Header:
    return Header(
        version=1,
        name="tiny",
        title="A tiny incident",
        clock=Clock(anchor=NOW - timedelta(minutes=2), ends_at=NOW),
        scrape_interval_seconds=15,
        truth=Truth(
            verdict=Verdict.CAUSE_FOUND,
            root_cause="The cat.",
            category="external.cat",
            onset=NOW - timedelta(minutes=5),
        ),
    )


def scenario(
    *,
    series: Sequence[Series] = (),
    streams: Sequence[Stream] = (),
    changes: Changes | None = None,
    groups: Sequence[RuleGroup] = (),
    metadata: Mapping[str, MetricMetadata] | None = None,
    alert: bytes = b'{"version":"4","alerts":[{"startsAt":"2026-03-01T11:58:00Z"}]}\n',
) -> Scenario:
    return Scenario(
        header=header(),
        alert=alert,
        groups=tuple(groups),
        series=tuple(series),
        metadata=dict(metadata or {}),
        streams=tuple(streams),
        changes=changes or Changes(),
    )


def request(path: str, *parameters: tuple[str, str], method: str = "GET", **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method, path, parameters, named, "http://127.0.0.1:1/prefix")


def ask(url: str, parameters: Mapping[str, Json] | None = None, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = None if parameters is None else dict(parameters)  # {} would drop the query of `url`
    return httpx2.get(url, params=given, headers=named, timeout=30, trust_env=False)  # type: ignore[arg-type]
