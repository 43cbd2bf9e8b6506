"""Collects samples by label set, and turns them into series."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from inquest.scenarios.generate.timeline import SCRAPE_MS
from inquest.scenarios.promql.samples import NAME, Labels, Series, labels_of, stale_times


class Recorder:
    """Appends samples; the times of one label set must ascend."""

    def __init__(self) -> None:
        self._times: dict[Labels, array[int]] = {}
        self._values: dict[Labels, array[float]] = {}

    def add(self, labels: Labels, at_ms: int, value: float) -> None:
        """Append one sample."""
        self._times.setdefault(labels, array("q")).append(at_ms)
        self._values.setdefault(labels, array("d")).append(value)

    def series(self, end_ms: int) -> Iterator[Series]:
        """Give all series of a recording that ends at `end_ms`."""
        for labels, times in self._times.items():
            yield Series(labels, times, self._values[labels], stale_times(times, SCRAPE_MS, end_ms))


def metric(name: str, where: dict[str, str], /, **more: str) -> Labels:
    """Name a series. `more` are labels whose names are fixed."""
    return labels_of({NAME: name, **where, **more})
