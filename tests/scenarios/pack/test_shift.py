from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.value import epoch_ms
from inquest.scenarios.pack.changes import Changes
from inquest.scenarios.pack.format import Scenario
from inquest.scenarios.pack.shift import anchored_at, ending_at, moved, moved_json
from inquest.scenarios.promql.samples import Series
from tests.scenarios.builders import NOW, gauge, scenario, stream
from tests.scenarios.gitlab.test_api import PROJECT

BY = timedelta(days=30, hours=1, milliseconds=250)


def recorded() -> Scenario:
    return scenario(
        series=[gauge("g", {-15: 1.0, 0: 2.0})],
        streams=[stream([(-1.5, "line at 2026-03-01T11:59:58Z")], app="a")],
        changes=Changes(projects=(PROJECT,)),
        alert=b'{ "startsAt": "2026-03-01T11:58:00.5Z",\n "endsAt":"0001-01-01T00:00:00Z", "text": "at 2026-03-01T11:58:00Z"}',
    )


@pytest.mark.parametrize(
    ("text", "by", "expected"),
    [
        ("2026-03-01T11:58:00Z", timedelta(seconds=90), "2026-03-01T11:59:30Z"),
        ("2026-03-01T11:58:00.5Z", timedelta(seconds=1), "2026-03-01T11:58:01.5Z"),
        ("2026-03-01T11:58:00Z", timedelta(milliseconds=1), "2026-03-01T11:58:00.001Z"),
        ("2026-03-01T11:58:00.999999999Z", timedelta(milliseconds=1), "2026-03-01T11:58:01.000999999Z"),
        ("2026-03-01T11:58:00.123456+01:00", timedelta(milliseconds=-124), "2026-03-01T11:57:59.999456+01:00"),
        ("2026-03-01T23:59:59-05:00", timedelta(seconds=1), "2026-03-02T00:00:00-05:00"),
        ("0001-01-01T00:00:00Z", timedelta(days=1), "0001-01-01T00:00:00Z"),
        ("2026-02-31T00:00:00Z", timedelta(days=1), "2026-02-31T00:00:00Z"),
        ("since 2026-03-01T11:58:00Z", timedelta(days=1), "since 2026-03-01T11:58:00Z"),
        ("2026-03-01", timedelta(days=1), "2026-03-01"),
    ],
)
def test_a_text_that_is_a_time_is_moved_in_its_own_form(text: str, by: timedelta, expected: str) -> None:
    assert moved_json(text, by) == expected
    assert moved_json({"a": [text, 1, None]}, by) == {"a": [expected, 1, None]}


def test_staleness_moves_with_the_samples() -> None:
    one = gauge("g", {-60: 1.0})
    ended = Series(one.labels, one.times, one.values, (one.times[0] + 15_000,))
    after = moved(scenario(series=[ended]), timedelta(seconds=5))
    assert after.series[0].stale == (one.times[0] + 20_000,)


def test_the_alert_keeps_its_bytes_but_for_its_times() -> None:
    assert moved(recorded(), timedelta(days=1)).alert == (
        b'{ "startsAt": "2026-03-02T11:58:00.5Z",\n "endsAt":"0001-01-01T00:00:00Z", "text": "at 2026-03-01T11:58:00Z"}'
    )


def test_an_escaped_quote_does_not_make_a_part_of_a_text_a_time() -> None:
    alert = json.dumps({"a": 'x "2026-03-01T11:58:00Z'}).encode()
    assert moved(scenario(alert=alert), BY).alert == alert


def test_everything_moves_by_the_same_milliseconds() -> None:
    before, after = recorded(), moved(recorded(), BY)
    ms = BY // timedelta(milliseconds=1)

    assert (after.anchor - before.anchor, after.ends_at - before.ends_at) == (BY, BY)
    assert list(after.series[0].times) == [time + ms for time in before.series[0].times]
    assert list(after.streams[0].times) == [time + ms * 1_000_000 for time in before.streams[0].times]
    assert after.streams[0].lines == before.streams[0].lines
    assert before.header.truth.onset is not None
    assert after.header.truth.onset == before.header.truth.onset + BY
    deployed = after.changes.projects[0].deployments[0]
    assert deployed["created_at"] == "2026-03-22T11:00:00.250Z"


def test_the_anchor_or_the_present_lands_where_it_is_asked_to() -> None:
    moment = NOW + timedelta(days=3, milliseconds=7)
    assert anchored_at(recorded(), moment).anchor == moment
    assert ending_at(recorded(), moment).ends_at == moment


def test_a_part_of_a_millisecond_is_dropped_everywhere_alike() -> None:
    after = ending_at(recorded(), NOW + timedelta(microseconds=1999))
    assert after.ends_at == NOW + timedelta(milliseconds=1)
    assert after.series[0].times[-1] == epoch_ms(NOW) + 1


@given(st.timedeltas(timedelta(days=-9000), timedelta(days=9000)))
def test_moving_there_and_back_changes_nothing(by: timedelta) -> None:
    whole = by // timedelta(milliseconds=1) * timedelta(milliseconds=1)
    once = moved(moved(recorded(), whole), -whole)
    assert (once.header, once.series, once.streams) == (recorded().header, recorded().series, recorded().streams)
