"""The incident window: what an investigation may look at, fixed from the alert's times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.window import LONGEST, LOOKBACK, Window, incident_window

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1, 3, 1), datetime(9998, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  # hypothesis adds the zone


def test_a_firing_alert_is_looked_at_from_two_hours_before_until_now() -> None:
    window = incident_window(firing_since=NOW - timedelta(minutes=20), received_at=NOW, ended_at=None, now=NOW)

    assert window.incident == Window(start=NOW - timedelta(minutes=140), end=NOW)
    assert window.baseline == Window(start=NOW - timedelta(minutes=280), end=NOW - timedelta(minutes=140))


def test_a_resolved_alert_is_looked_at_until_ten_minutes_after() -> None:
    window = incident_window(
        firing_since=NOW - timedelta(hours=3), received_at=NOW, ended_at=NOW - timedelta(hours=1), now=NOW
    )

    assert window.incident.end == NOW - timedelta(minutes=50)


def test_a_start_in_the_future_is_the_senders_clock_and_not_ours() -> None:
    window = incident_window(firing_since=NOW + timedelta(hours=2), received_at=NOW, ended_at=None, now=NOW)

    assert window.anchor == NOW


def test_trouble_over_a_week_old_is_its_first_day_and_the_last_hour() -> None:
    window = incident_window(firing_since=NOW - timedelta(days=30), received_at=NOW, ended_at=None, now=NOW)

    assert window.incident.start == NOW - timedelta(days=30, hours=2)
    assert window.incident.end == NOW - timedelta(days=30) + timedelta(hours=22)
    assert window.last_hour == Window(start=NOW - timedelta(hours=1), end=NOW)
    assert window.allows(window.last_hour)


@given(st.none() | MOMENTS, st.none() | MOMENTS)
def test_no_alert_time_makes_an_empty_negative_or_endless_window(
    firing_since: datetime | None, ended_at: datetime | None
) -> None:
    window = incident_window(firing_since=firing_since, received_at=NOW, ended_at=ended_at, now=NOW)

    assert timedelta(0) < window.incident.length <= LONGEST
    assert window.baseline.length == window.incident.length
    assert window.incident.end <= NOW + timedelta(seconds=1)


@pytest.mark.parametrize(("start", "end"), [(NOW, NOW), (NOW, NOW - LOOKBACK)])
def test_a_window_runs_forward(start: datetime, end: datetime) -> None:
    with pytest.raises(ValueError, match="start is before its end"):
        Window(start=start, end=end)
