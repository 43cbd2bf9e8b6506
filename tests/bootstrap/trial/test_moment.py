"""--at: every way to write a moment, and what is said of what is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.bootstrap.trial.moment import moment_of
from inquest.errors import ConfigurationError

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T09:00:00Z", NOW - timedelta(hours=1)),
        ("2026-03-01 09:00:00+00:00", NOW - timedelta(hours=1)),
        ("2026-03-01T10:30:00.5+02:00", NOW - timedelta(hours=1, minutes=29, seconds=59.5)),
        ("2h ago", NOW - timedelta(hours=2)),
        ("1h30m ago", NOW - timedelta(hours=1, minutes=30)),
        (" 90s ago ", NOW - timedelta(seconds=90)),
        ("1w ago", NOW - timedelta(days=7)),
        ("0s ago", NOW),
        ("1772355600", NOW - timedelta(hours=1)),
        ("1772355600.25", NOW - timedelta(hours=1, seconds=-0.25)),
        ("1772355600250", NOW - timedelta(hours=1, seconds=-0.25)),
    ],
)
def test_a_moment_is_rfc_3339_or_so_long_ago_or_the_epoch(text: str, moment: datetime) -> None:
    assert moment_of(text, now=NOW) == moment


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-03-01T09:00:00", "has no time zone: add Z for UTC"),
        ("2026-03-01", "has no time zone"),
        ("2026-03-01T11:00:00Z", "2026-03-01 11:00:00 UTC is in the future"),
        ("yesterday", "'yesterday' is no moment: write "),
        ("2 h ago", "is no moment"),
        ("h ago", "is no moment"),
        ("99999999w ago", "is no moment"),
        ("999999999999999", "is no moment"),
        ("2026-13-01T09:00:00Z", "is no moment"),
        ("", "is no moment"),
        ("\x1b[31m", "'\\x1b[31m' is no moment"),
    ],
)
def test_what_is_no_moment_in_the_past_is_told_by_its_option(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--at: ") as refused:
        moment_of(text, now=NOW)

    assert told in str(refused.value)


@given(st.text(max_size=40))
def test_any_text_is_a_moment_in_the_past_or_refused(text: str) -> None:
    try:
        moment = moment_of(text, now=NOW)
    except ConfigurationError:
        return
    assert moment <= NOW
