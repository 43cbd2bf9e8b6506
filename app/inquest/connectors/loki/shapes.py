"""The data of Loki's API -> lines, names and volumes. Pure; raises Drift and Unreadable."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from inquest.connectors.shared.reading import Drift, Unreadable, labels, listed, rows
from inquest.connectors.shared.series import result_of
from inquest.domain.signals import LogLine, Logs, Volume
from inquest.domain.value import Json, Labels

KEY_CHARS = 16
"""Hex digits of the hash by which equal lines are known: of lines at one nanosecond, so 64 bits are plenty."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NS_IN_MS = 1_000_000
_MAX_NS_DIGITS = 19
_LOST = re.compile("[\ufffd\ud800-\udfff]")
"""What stands where bytes were no UTF-8: replaced by us, by Loki, or left as half a character."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line as Loki gave it; `at_ns` since 1970."""

    at_ns: int
    labels: Labels
    line: str

    @property
    def key(self) -> str:
        """Give the hash by which the line is known again on another page."""
        raw = json.dumps([sorted(self.labels.items()), self.line])
        return hashlib.sha256(raw.encode()).hexdigest()[:KEY_CHARS]


def entries(data: Json, *, forward: bool) -> tuple[Entry, ...]:
    """Read the streams of a log query, in time order; ties by labels, then in the order of their stream.

    Loki gives each stream in the order that was asked for.
    """
    kind, result = result_of(data)
    if kind != "streams":
        msg = "data.resultType"
        raise Drift(msg)
    found: list[Entry] = []
    for row in rows(result, "data.result"):
        named = labels(row.get("stream"), "data.result.stream")
        values = [_entry(value, named) for value in listed(row.get("values"), "data.result.values")]
        found += values if forward else reversed(values)
    return tuple(sorted(found, key=lambda one: (one.at_ns, sorted(one.labels.items()))))


def _entry(value: Json, named: Labels) -> Entry:
    """Read [time, line] or [time, line, more], time as decimal nanoseconds in a string."""
    match value:
        case [str() as time, str() as line, *_]:
            if not (time.isascii() and time.isdecimal() and len(time) <= _MAX_NS_DIGITS):
                msg = "a time of the answer is no number of nanoseconds"
                raise Unreadable(msg)
            return Entry(int(time), named, line)
        case _:
            msg = "data.result.values"
            raise Drift(msg)


def logs(found: Iterable[Entry]) -> Logs:
    """Give the lines as content."""
    lines = tuple(
        LogLine(time=one.at_ns // _NS_IN_MS, time_ns=str(one.at_ns), labels=one.labels, line=one.line) for one in found
    )
    return Logs(lines=lines, lossy=any(_LOST.search(one.line) for one in lines))


def volume(told: dict[str, Json]) -> Volume:
    """Read the answer of index/stats."""
    counts = []
    for name in ("streams", "entries", "bytes"):
        count = told.get(name)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise Drift(name)
        counts.append(count)
    streams, lines, size = counts
    return Volume(streams=streams, entries=lines, bytes=size)


def label_sets(data: Json) -> tuple[Labels, ...]:
    """Read the answer of /series."""
    return tuple(labels(one, "data") for one in listed(data, "data"))


def since_1970_ns(moment: datetime) -> int:
    """Give whole nanoseconds, exact."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
