from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.sources.shared.moments import read_rfc3339


def read(written: object) -> tuple[datetime | None, list[str]]:
    warnings: list[str] = []
    return read_rfc3339(written, warnings, "startsAt"), warnings


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2200, 12, 30), timezones=st.builds(  # noqa: DTZ001  # given a zone
        lambda minutes: timezone(timedelta(minutes=minutes)), st.integers(-840, 840)))
)  # fmt: skip
def test_what_isoformat_writes_is_read_in_utc(moment: datetime) -> None:
    assert read(moment.isoformat()) == (moment.astimezone(UTC), [])


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-03-01T10:00:00.123456789Z", "2026-03-01T10:00:00.123456+00:00"),
        ("2026-03-01T10:00:00.1Z", "2026-03-01T10:00:00.100000+00:00"),
        ("2026-03-01t10:00:00z", "2026-03-01T10:00:00+00:00"),
        ("2026-03-01T18:00:00+08:00", "2026-03-01T10:00:00+00:00"),
        ("2026-03-01T18:00:00+0800", "2026-03-01T10:00:00+00:00"),
        ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00+00:00"),
    ],
)
def test_the_forms_of_senders_are_read(written: str, moment: str) -> None:
    assert read(written) == (datetime.fromisoformat(moment), [])


@pytest.mark.parametrize("written", [None, "", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+08:00"])
def test_what_is_not_set_is_none_without_a_warning(written: object) -> None:
    assert read(written) == (None, [])


@pytest.mark.parametrize(
    "written", ["0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "99999-01-01T00:00:00Z"]
)
def test_a_year_out_of_range_is_none_with_a_warning(written: str) -> None:
    assert read(written) == (None, ["startsAt is outside the years 1970 to 2200"])


@pytest.mark.parametrize(
    "written",
    ["soon", 1767225600, True, ["2026-03-01T10:00:00Z"], "2026-03-01T10:00:00", "2026-02-30T10:00:00Z",
     "2026-03-01T25:00:00Z", "2026-03-01T10:00:00+99:00", "٢٠٢٦-03-01T10:00:00Z", "2026-03-01T10:00:61Z " * 10_000],
)  # fmt: skip
def test_what_is_no_time_is_none_with_a_warning(written: object) -> None:
    assert read(written) == (None, ["startsAt is no RFC 3339 time"])


def test_a_second_of_sixty_one_is_no_time() -> None:
    moment, warnings = read("2026-03-01T10:00:61Z")
    assert (moment, warnings) == (None, ["startsAt is no RFC 3339 time"])
