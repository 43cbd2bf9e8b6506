"""Move a whole recording in time, to the millisecond."""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import replace
from datetime import datetime, timedelta

from inquest.domain.value import Json
from inquest.scenarios.loki.lines import Stream
from inquest.scenarios.pack.changes import Changes
from inquest.scenarios.pack.format import Clock, Header, Scenario, Truth
from inquest.scenarios.promql.samples import Series

_MILLISECOND = timedelta(milliseconds=1)
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
# A whole JSON string; an escaped quote before it would make it the end of a longer one.
_TIMESTAMP_LITERAL = re.compile(rb'(?<!\\)"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"')
_NEVER_YEAR = "0001"  # Alertmanager's "no end yet"


def anchored_at(scenario: Scenario, moment: datetime) -> Scenario:
    """Move `scenario` so that its anchor, the moment the alert began to fire, is `moment` (timezone-aware)."""
    return moved(scenario, moment - scenario.anchor)


def ending_at(scenario: Scenario, moment: datetime) -> Scenario:
    """Move `scenario` so that its present, `ends_at`, is `moment` (timezone-aware)."""
    return moved(scenario, moment - scenario.ends_at)


def moved(scenario: Scenario, by: timedelta) -> Scenario:
    """Move every time of `scenario`, in whole milliseconds.

    The alert keeps its bytes but for the times. In the alert and the changes, a JSON string that is an RFC 3339 time and nothing else is moved, in its
    own form and zone; a time inside a longer text (a log line, a title) stays as it was recorded.
    """
    ms = by // _MILLISECOND
    whole = ms * _MILLISECOND
    return replace(
        scenario,
        header=_moved_header(scenario.header, whole),
        alert=_moved_body(scenario.alert, whole),
        series=tuple(_moved_series(one, ms) for one in scenario.series),
        streams=tuple(_moved_stream(one, ms * 1_000_000) for one in scenario.streams),
        changes=Changes.model_validate_json(json.dumps(moved_json(scenario.changes.model_dump(mode="json"), whole))),
    )


def _moved_body(body: bytes, by: timedelta) -> bytes:
    return _TIMESTAMP_LITERAL.sub(lambda found: f'"{_moved_text(found.group(1).decode(), by)}"'.encode(), body)


def moved_json(value: Json, by: timedelta) -> Json:
    """Move the times in a JSON value."""
    match value:
        case str():
            return _moved_text(value, by)
        case list():
            return [moved_json(one, by) for one in value]
        case dict():
            return {key: moved_json(one, by) for key, one in value.items()}
        case _:
            return value


def _moved_text(text: str, by: timedelta) -> str:
    parts = _TIMESTAMP.fullmatch(text)
    if parts is None or parts.group(1) == _NEVER_YEAR:
        return text
    fraction, zone = parts.group(7) or "", parts.group(8)
    try:
        moment = datetime.fromisoformat(f"{text[:19]}{'+00:00' if zone == 'Z' else zone}") + by
    except (ValueError, OverflowError):  # looks like a time and is none
        return text
    digits = fraction[1:]
    if by % timedelta(seconds=1):
        # Add the fraction as an integer of its own digits: nanoseconds do not fit a datetime.
        width = max(len(digits), 3)
        added = int(digits.ljust(width, "0") or "0") + moment.microsecond * 10**width // 1_000_000
        moment = moment.replace(microsecond=0) + timedelta(seconds=added // 10**width)
        digits = f"{added % 10**width:0{width}d}"
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + (f".{digits}" if digits else "") + zone


def _moved_header(header: Header, by: timedelta) -> Header:
    truth = header.truth
    herrings = tuple(one.but(at=one.at + by) for one in truth.red_herrings)
    onset = None if truth.onset is None else truth.onset + by
    moved_truth: Truth = truth.but(onset=onset, red_herrings=herrings)
    clock = Clock(anchor=header.clock.anchor + by, ends_at=header.clock.ends_at + by)
    return header.but(clock=clock, truth=moved_truth)


def _moved_series(series: Series, ms: int) -> Series:
    times = array("q", (time + ms for time in series.times))
    return Series(series.labels, times, series.values, tuple(time + ms for time in series.stale))


def _moved_stream(stream: Stream, ns: int) -> Stream:
    return Stream(stream.labels, array("q", (time + ns for time in stream.times)), stream.lines)
