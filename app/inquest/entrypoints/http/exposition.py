"""The metrics of a process as Prometheus reads them: what it counts itself, and nothing that another one counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from inquest.telemetry import Metrics

OF_THE_SERVICE = (
    "posts", "members", "backpressure", "accept_seconds", "investigations", "questions", "running", "queued",
    "oldest_queued_seconds", "halted", "database_up",
)  # fmt: skip
OF_A_WORKER = (
    "investigations", "stage_errors", "effects", "repeated_dispatches", "abandoned_effects", "late_outcomes", "questions",
    "deliveries", "watchdog_missing", "removed",
)  # fmt: skip
"""What each process shows: what it counts itself, and what the service asks the database for all of them."""


def exposition(metrics: Metrics, names: Sequence[str]) -> bytes:
    """Give those of `names` in the text format that Prometheus scrapes."""
    return generate_latest(_Shown([getattr(metrics, name) for name in names]))


@dataclass(frozen=True)
class _Shown(Collector):
    """Some metrics of a registry. What another process counts would stand here as 0."""

    parts: Sequence[Collector]

    @override
    def collect(self) -> Iterator[Metric]:
        for part in self.parts:
            yield from part.collect()
