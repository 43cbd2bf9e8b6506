from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.sources.shared.moments import read_epoch, read_rfc3339


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


# ---- epoch


def epoch(written: object) -> tuple[datetime | None, list[str]]:
    warnings: list[str] = []
    return read_epoch(written, warnings, "date"), warnings


@given(st.integers(10**8 + 1, 7 * 10**9), st.sampled_from([1, 10**3, 10**6, 10**9]), st.booleans())
def test_each_unit_is_told_by_its_magnitude_from_1973_to_2191(seconds: int, per_second: int, quoted: bool) -> None:
    number = seconds * per_second
    assert epoch(str(number) if quoted else number) == (datetime.fromtimestamp(seconds, UTC), [])


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("1767225600", "2026-01-01T00:00:00+00:00"),
        ("1767225600000", "2026-01-01T00:00:00+00:00"),
        ("1767225600123", "2026-01-01T00:00:00.123000+00:00"),
        ("1767225600123456", "2026-01-01T00:00:00.123456+00:00"),
        ("1767225600123456789", "2026-01-01T00:00:00.123456+00:00"),
        ("1767225600.123456789", "2026-01-01T00:00:00.123456+00:00"),
        (" 1767225600.5 ", "2026-01-01T00:00:00.500000+00:00"),
        (1767225600.25, "2026-01-01T00:00:00.250000+00:00"),
        (1767225600000.0, "2026-01-01T00:00:00+00:00"),
        ("0000001767225600", "2026-01-01T00:00:00+00:00"),
    ],
)
def test_the_forms_of_epochs_are_read_exactly(written: object, moment: str) -> None:
    assert epoch(written) == (datetime.fromisoformat(moment), [])


@pytest.mark.parametrize("written", [None, "", 0, 0.0, "0", "0.0", "0.0000000001"])
def test_an_epoch_that_is_not_set_is_none_without_a_warning(written: object) -> None:
    assert epoch(written) == (None, [])


@pytest.mark.parametrize(
    "written",
    ["soon", "-1", -5, True, "1e9", 1e300, float("nan"), float("inf"), "1" * 20, 10**20, "1.", "٣٣", [], {}],
)
def test_what_is_no_epoch_is_none_with_a_warning(written: object) -> None:
    assert epoch(written) == (None, ["date is no epoch time"])


@pytest.mark.parametrize(
    "written", ["7289654400", "99999999999", "99999999999999", "99999999999999999", 9_999_999_999_999_999_999]
)
def test_an_epoch_after_the_last_year_is_none_with_a_warning(written: object) -> None:
    assert epoch(written) == (None, ["date is outside the years 1970 to 2200"])


def test_an_integer_that_python_would_not_write_is_no_epoch() -> None:
    assert epoch(10**5_000) == (None, ["date is no epoch time"])


def test_the_last_year_is_read() -> None:
    assert epoch("7289654399") == (datetime(2200, 12, 31, 23, 59, 59, tzinfo=UTC), [])


@given(st.text(max_size=30) | st.integers() | st.floats() | st.none() | st.booleans())
def test_no_epoch_raises(written: object) -> None:
    moment, _ = epoch(written)
    assert moment is None or moment.tzinfo is UTC
