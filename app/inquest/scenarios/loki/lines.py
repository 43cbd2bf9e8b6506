"""Log lines in memory: which ones a query selects, and how many there are at each time."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inquest.errors import InquestError
from inquest.scenarios import bounds
from inquest.scenarios.loki.logql import CountLines, LogQuery, MetricQuery, RangeAggregation, SumOf
from inquest.scenarios.promql.samples import Labels
from inquest.scenarios.promql.syntax import Matcher


class TooMuch(InquestError):
    """A query above a limit; the message is Loki's, or close to it."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The lines of one label set. `times` are epoch nanoseconds, ascending; `lines` go with them."""

    labels: Labels
    times: array[int]
    lines: tuple[str, ...]

    def between(self, start_ns: int, end_ns: int) -> range:
        """Give the indices of the lines in [start_ns, end_ns)."""
        return range(bisect_left(self.times, start_ns), bisect_left(self.times, end_ns))


@dataclass(frozen=True, slots=True)
class Entry:
    """One selected line."""

    time_ns: int
    labels: Labels
    line: str


@dataclass(frozen=True, slots=True)
class Volume:
    """What a selector covers."""

    streams: int
    chunks: int
    entries: int
    bytes: int


_CHUNK_NS = 3600 * 1_000_000_000  # a stream's hour counts as one chunk


class Lines:
    """All streams of a recording."""

    def __init__(self, streams: Iterable[Stream]) -> None:
        self.streams: tuple[Stream, ...] = tuple(sorted(streams, key=lambda one: one.labels))

    def matching(self, matchers: Sequence[Matcher]) -> list[Stream]:
        """Give the streams that pass all of `matchers`, ordered by labels."""
        return [one for one in self.streams if _accepted(dict(one.labels), matchers)]

    def select(self, query: LogQuery, start_ns: int, end_ns: int, *, limit: int, forward: bool) -> list[Entry]:
        """Give at most `limit` lines in [start_ns, end_ns): the oldest first when `forward`, else the newest.

        Raises TooMuch.
        """
        held = [(stream, stream.between(start_ns, end_ns)) for stream in self.matching(query.matchers)]
        _refuse_too_much(query, [indices for _, indices in held])
        runs = [_run(query, stream, indices, forward) for stream, indices in held]
        merged = heapq.merge(*runs, key=lambda entry: entry.time_ns, reverse=not forward)
        return [entry for _, entry in zip(range(limit), merged, strict=False)]

    def volume(self, matchers: Sequence[Matcher], start_ns: int, end_ns: int) -> Volume:
        """Count what `matchers` cover in [start_ns, end_ns)."""
        found = [(one, held) for one in self.matching(matchers) if (held := one.between(start_ns, end_ns))]
        return Volume(
            streams=len(found),
            chunks=sum(len({one.times[index] // _CHUNK_NS for index in held}) for one, held in found),
            entries=sum(len(held) for _, held in found),
            bytes=sum(len(one.lines[index].encode()) for one, held in found for index in held),
        )

    def count(
        self, query: MetricQuery, times_ns: Sequence[int], *, horizon_ns: int
    ) -> dict[Labels, list[float | None]]:
        """Evaluate a metric query at each time, lines after `horizon_ns` unseen; None where it has no lines.

        Raises TooMuch.
        """
        if isinstance(query, SumOf):
            return _summed(query, self.count(query.operand, times_ns, horizon_ns=horizon_ns))
        asked = _span(query, times_ns, horizon_ns)
        streams = self.matching(query.query.matchers)
        _refuse_too_much(query.query, [stream.between(*asked) for stream in streams])
        columns = ((stream.labels, _counted(query, stream, times_ns, asked)) for stream in streams)
        found = {labels: column for labels, column in columns if any(value is not None for value in column)}
        if len(found) > bounds.MAX_LOG_SERIES:
            raise TooMuch(f"maximum of series ({bounds.MAX_LOG_SERIES}) reached for a single query")
        return found


def _accepted(labels: dict[str, str], matchers: Sequence[Matcher]) -> bool:
    return all(matcher.accepts(labels.get(matcher.label, "")) for matcher in matchers)


def _run(query: LogQuery, stream: Stream, held: range, forward: bool) -> Iterator[Entry]:  # noqa: FBT001 - private
    for index in held if forward else reversed(held):
        if query.keeps(stream.lines[index]):
            yield Entry(stream.times[index], stream.labels, stream.lines[index])


def _span(query: CountLines, times_ns: Sequence[int], horizon_ns: int) -> tuple[int, int]:
    """Give the [start, end) that the windows (t - range, t] of all times cover, up to the horizon."""
    return times_ns[0] - query.range_ms * 1_000_000 + 1, min(times_ns[-1], horizon_ns) + 1


def _refuse_too_much(query: LogQuery, held: Iterable[range]) -> None:
    tests = sum(len(indices) for indices in held) * max(1, len(query.filters))
    if tests > bounds.MAX_LINE_TESTS:
        raise TooMuch(
            f"the query would read too many lines ({tests} > {bounds.MAX_LINE_TESTS}); "
            "consider adding more specific stream selectors or reduce the time range of the query",
        )


def _counted(query: CountLines, stream: Stream, times_ns: Sequence[int], asked: tuple[int, int]) -> list[float | None]:
    """Count the lines in (t - range, t] at each time; `asked` spans all of them."""
    range_ns = query.range_ms * 1_000_000
    held = stream.between(*asked)
    kept = array("q", (stream.times[index] for index in held if query.query.keeps(stream.lines[index])))
    counts = (bisect_right(kept, time) - bisect_right(kept, time - range_ns) for time in times_ns)
    if query.aggregation is RangeAggregation.RATE:
        return [count / (query.range_ms / 1000) if count else None for count in counts]
    return [float(count) if count else None for count in counts]


def _summed(query: SumOf, columns: dict[Labels, list[float | None]]) -> dict[Labels, list[float | None]]:
    groups: dict[Labels, list[list[float | None]]] = {}
    for labels, column in columns.items():
        groups.setdefault(_group(query, labels), []).append(column)
    return {labels: [_sum(row) for row in zip(*group, strict=True)] for labels, group in groups.items()}


def _group(query: SumOf, labels: Labels) -> Labels:
    return tuple(pair for pair in labels if (pair[0] in query.labels) is not query.without)


def _sum(row: tuple[float | None, ...]) -> float | None:
    present = [value for value in row if value is not None]
    return sum(present) if present else None
