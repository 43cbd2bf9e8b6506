"""Incidents made for one test each: other names, units and shapes than the recording's, played by the same backend.

made = Incident("sum(rate(rpc_failures_total{app="ledger"}[3m])) > 1")
made.counter("rpc_failures_total", lambda m: 0.1 if m < 0 else 30)
made.deployed("ledger", -4)
found = await made.diagnosed()

Minutes are relative to the trouble's beginning. The alert fires at FIRES, and it is NOW_AFTER then.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.domain.value import epoch_ms, rfc3339
from inquest.scenarios.generate.alertmanager import firing_body
from inquest.scenarios.loki.lines import Stream
from inquest.scenarios.pack.changes import Changes, Object, RecordedProject
from inquest.scenarios.pack.format import VERSION, CatalogueEntry, Clock, Header, MetricMetadata, Scenario, Truth
from inquest.scenarios.pack.rules import AlertingRule, RuleGroup
from inquest.scenarios.promql.samples import Series, labels_of, stale_times
from tests.investigators.recorded_runs import investigated

BEGAN = datetime(2026, 4, 7, 15, 20, tzinfo=UTC)
FIRES, NOW_AFTER = 4.0, 6.0
RECORDED_FROM, RECORDED_TO = -300.0, 30.0
SERVICE, CALLED = "ledger", "rates"

Course = Callable[[float], float | None]
"""The value at a minute; None is a scrape that is missing."""


def step(before: float, after: float, at: float = 0.0) -> Course:
    """Jump from one value to another."""
    return lambda minute: after if minute >= at else before


def ramp(before: float, after: float, begins: float, ends: float) -> Course:
    """Go from one value to another at an even pace."""
    return lambda minute: before + (after - before) * min(max((minute - begins) / (ends - begins), 0.0), 1.0)


class Incident:
    """What happened to the service `ledger`, which calls `rates`."""

    def __init__(self, expr: str, *, scrape_s: int = 30, depends_on: Iterable[str] = (CALLED,)) -> None:
        self._expr = expr
        self._scrape_s = scrape_s
        self._depends_on = tuple(depends_on)
        self._series: list[Series] = []
        self._metadata: dict[str, MetricMetadata] = {}
        self._streams: dict[str, list[tuple[float, str]]] = {}
        self._deployments: dict[str, list[Object]] = {}
        self._chance = random.Random(expr)  # noqa: S311  # the same noise in every run

    # ---- what is measured ------------------------------------------------------------------------------

    def gauge(self, name: str, course: Course, *, noise: float = 0.02, of: str = SERVICE, **labels: str) -> Incident:
        """Sample a gauge, with noise as a share of its value."""
        return self._sampled(name, "gauge", self._noisy(course, noise), of, labels)

    def counter(
        self,
        name: str,
        per_second: Course,
        *,
        noise: float = 0.05,
        of: str = SERVICE,
        resets: Iterable[float] = (),
        **labels: str,
    ) -> Incident:
        """Sample a counter that rises so fast, and begins anew at the minutes of `resets`."""
        noisy, ends = self._noisy(per_second, noise), sorted(resets)
        total, before = 1_000.0, RECORDED_FROM

        def course(minute: float) -> float | None:
            nonlocal total, before
            if any(before < end <= minute for end in ends):
                total = 0.0
            rate = noisy(minute)
            total += (rate or 0.0) * (minute - before) * 60
            before = minute
            return None if rate is None else total

        return self._sampled(name, "counter", course, of, labels)

    def histogram(self, name: str, seconds: Course, per_second: float = 50.0, *, of: str = SERVICE) -> Incident:
        """Sample a histogram of answers that take about so many seconds (log-normal)."""
        for bound in (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf):

            def below(minute: float, bound: float = bound) -> float | None:
                middle = seconds(minute)
                if middle is None:
                    return None
                if math.isinf(bound):
                    return per_second
                return per_second * 0.5 * (1 + math.erf(math.log(bound / middle) / (0.5 * math.sqrt(2))))

            self.counter(f"{name}_bucket", below, noise=0.0, of=of, le="+Inf" if math.isinf(bound) else f"{bound:g}")
        return self

    def _noisy(self, course: Course, share: float) -> Course:
        def value(minute: float) -> float | None:
            plain = course(minute)
            return None if plain is None else plain * (1 + share * self._chance.uniform(-1, 1))

        return value

    def _sampled(self, name: str, kind: str, course: Course, of: str, labels: dict[str, str]) -> Incident:
        times, values, minute = array("q"), array("d"), RECORDED_FROM
        while minute <= RECORDED_TO:
            value = course(minute)
            if value is not None:
                times.append(_ms(minute))
                values.append(value)
            minute += self._scrape_s / 60
        gone = stale_times(times, self._scrape_s * 1_000, _ms(RECORDED_TO))
        self._series.append(Series(labels_of({"__name__": name, "app": of, **labels}), times, values, gone))
        self._metadata[name] = MetricMetadata(kind, "", "")
        return self

    # ---- what is logged and changed --------------------------------------------------------------------

    def logged(self, line: str, *, every_s: float = 20.0, begins: float = RECORDED_FROM, of: str = SERVICE) -> Incident:
        """Log a line over and over; `{}` in it becomes a number."""
        minute, number = begins, 0
        while minute < RECORDED_TO:
            self._streams.setdefault(of, []).append((minute, line.replace("{}", str(number))))
            minute, number = minute + every_s / 60, number + 1
        return self

    def deployed(self, service: str, minute: float, *, environment: str = "production", took: float = 1.0) -> Incident:
        """Begin a deployment of `service` at a minute."""
        these = self._deployments.setdefault(service, [])
        begun, ended, sha = _text(minute), _text(minute + took), f"{len(these) + 1:040x}"
        these.append(
            {
                "id": 900 + len(these), "iid": 1 + len(these), "ref": "main", "sha": sha, "status": "success",
                "created_at": begun, "updated_at": ended, "environment": {"id": 3, "name": environment},
                "deployable": {
                    "id": 7, "name": "deploy", "status": "success", "started_at": begun, "finished_at": ended,
                    "commit": {"id": sha, "title": f"Release of {service}"},
                },
            }
        )  # fmt: skip
        return self

    # ---- what comes of it ------------------------------------------------------------------------------

    async def diagnosed(self) -> Diagnosis:
        """Investigate it as the demo does its own."""
        return (await investigated(self.scenario())).diagnosis

    def scenario(self) -> Scenario:
        """Give it as a recording."""
        labels = {"app": SERVICE, "severity": "critical"}
        fires = BEGAN + timedelta(minutes=FIRES)
        name = "LedgerBroken"
        rule = AlertingRule(alert=name, expr=self._expr, labels=labels, annotations={"summary": "ledger is broken"})
        truth = Truth(verdict=Verdict.CAUSE_FOUND, root_cause="-", category="other.unknown", onset=BEGAN)
        return Scenario(
            header=Header(
                version=VERSION,
                name="made",
                title="Made for a test",
                clock=Clock(anchor=fires, ends_at=BEGAN + timedelta(minutes=NOW_AFTER)),
                scrape_interval_seconds=self._scrape_s,
                services=tuple(
                    CatalogueEntry(
                        name=service,
                        match={"app": service},
                        repository=f"bank/{service}",
                        depends_on=self._depends_on if service == SERVICE else (),
                    )
                    for service in (SERVICE, *self._depends_on)
                ),
                truth=truth,
            ),
            alert=firing_body(
                labels={"alertname": name, **labels},
                annotations=rule.annotations,
                starts_at=fires,
                expr=self._expr,
                receiver="inquest",
            ),
            groups=(RuleGroup(name="made", interval_ms=30_000, rules=(rule,)),),
            series=tuple(self._series),
            metadata=self._metadata,
            streams=tuple(_stream(service, lines) for service, lines in self._streams.items()),
            changes=Changes(projects=tuple(self._project(service) for service in self._projects())),
        )

    def _projects(self) -> list[str]:
        return sorted({SERVICE, *self._depends_on, *self._deployments})

    def _project(self, service: str) -> RecordedProject:
        number = 100 + self._projects().index(service)
        return RecordedProject(
            project={"id": number, "path_with_namespace": f"bank/{service}", "default_branch": "main"},
            deployments=tuple({**one, "id": number * 1_000 + index} for index, one in
                              enumerate(self._deployments.get(service, []))),
        )  # fmt: skip


def _stream(service: str, lines: list[tuple[float, str]]) -> Stream:
    ordered = sorted(lines)
    times = array("q", [_ms(minute) * 1_000_000 for minute, _ in ordered])
    return Stream(labels_of({"app": service}), times, tuple(line for _, line in ordered))


def _ms(minute: float) -> int:
    return epoch_ms(BEGAN) + round(minute * 60_000)


def _text(minute: float) -> str:
    return rfc3339(BEGAN + timedelta(minutes=minute))
