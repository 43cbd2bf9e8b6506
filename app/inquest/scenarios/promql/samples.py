"""Samples in memory, by series."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inquest.scenarios.promql.syntax import Matcher

Labels = tuple[tuple[str, str], ...]
"""Label pairs sorted by name; the metric's name is the label `__name__`."""

NAME = "__name__"


def labels_of(pairs: dict[str, str]) -> Labels:
    """Sort `pairs` by name and leave out empty values, which mean "absent"."""
    return tuple(sorted((name, value) for name, value in pairs.items() if value))


def without_name(labels: Labels) -> Labels:
    """Give `labels` less the metric's name."""
    return tuple(pair for pair in labels if pair[0] != NAME)


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one label set.

    `times` are epoch milliseconds, ascending, without repeats; `values` go with them. At each time of
    `stale` (ascending) the series was seen to be gone: an instant selector past it finds nothing, as
    after Prometheus' own staleness marker.
    """

    labels: Labels
    times: array[int]
    values: array[float]
    stale: tuple[int, ...] = ()

    def newest(self, at_ms: int, not_before_ms: int) -> float | None:
        """Give the value at `at_ms`: the newest one in [not_before_ms, at_ms], unless the series went stale."""
        index = bisect_right(self.times, at_ms) - 1
        if index < 0 or self.times[index] < not_before_ms:
            return None
        marks = bisect_right(self.stale, at_ms)
        if marks and self.stale[marks - 1] > self.times[index]:
            return None
        return self.values[index]

    def overlaps(self, start_ms: int, end_ms: int) -> bool:
        """Say whether a sample lies in [start_ms, end_ms]."""
        index = bisect_right(self.times, end_ms)
        return index > 0 and self.times[index - 1] >= start_ms


class Samples:
    """All series of a recording, found by metric name first."""

    def __init__(self, series: Iterable[Series]) -> None:
        self.series: tuple[Series, ...] = tuple(sorted(series, key=lambda one: one.labels))
        self._by_name: dict[str, list[Series]] = {}
        for one in self.series:
            self._by_name.setdefault(dict(one.labels).get(NAME, ""), []).append(one)

    def select(self, matchers: Sequence[Matcher]) -> list[Series]:
        """Give the series that pass all of `matchers`, ordered by labels."""
        names = [matcher for matcher in matchers if matcher.label == NAME]
        rest = [matcher for matcher in matchers if matcher.label != NAME]
        found = [
            one
            for name, group in self._by_name.items()
            if all(matcher.accepts(name) for matcher in names)
            for one in group
            if _accepted(dict(one.labels), rest)
        ]
        return sorted(found, key=lambda one: one.labels)


def _accepted(labels: dict[str, str], matchers: Sequence[Matcher]) -> bool:
    return all(matcher.accepts(labels.get(matcher.label, "")) for matcher in matchers)


def stale_times(times: array[int], interval_ms: int, end_ms: int) -> tuple[int, ...]:
    """Find where a series sampled each `interval_ms` was gone, in a recording that ends at `end_ms`.

    Prometheus marks a series stale at the first scrape that lacks it. A gap of more than one and a half
    intervals is such a scrape: one late scrape is not.
    """
    patience = interval_ms + interval_ms // 2
    ends = (*times[1:], end_ms)
    return tuple(time + interval_ms for time, following in zip(times, ends, strict=True) if following - time > patience)
