from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.scenarios.moments import Overflow, duration_ms, number, rfc3339_ns, unit_duration_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T01:00:00.000000001+01:00", 1),
        ("1970-01-01t00:00:00.5z", 500_000_000),
        ("1969-12-31T23:59:59Z", -1_000_000_000),
        ("2026-02-31T00:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("2026-03-01", None),
        ("2026-03-01T00:00:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_an_rfc_3339_time_is_read_to_the_nanosecond(text: str, expected: int | None) -> None:
    assert rfc3339_ns(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15", 15_000),
        ("1.5", 1500),
        ("1m30s", 90_000),
        ("1h", 3_600_000),
        ("250ms", 250),
        ("1d", 86_400_000),
        ("1w", 604_800_000),
        ("-3", -3000),
        ("5minutes", None),
        ("m", None),
        ("1s1h", None),
        ("", None),
    ],
)
def test_a_duration_is_seconds_or_units_in_falling_order(text: str, expected: int | None) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["1e300", "99999999999999999999", "Inf"])
def test_seconds_that_go_cannot_hold_overflow(text: str) -> None:
    with pytest.raises(Overflow, match="It overflows int64"):
        duration_ms(text)


@given(st.text(alphabet="0123456789eE.+-InfNaytmshdwTZ:_ ", max_size=40))
def test_any_text_is_read_or_none(text: str) -> None:
    number(text)
    rfc3339_ns(text)
    unit_duration_ms(text)
