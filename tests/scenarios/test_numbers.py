from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.scenarios.numbers import plain_value, sample_time, sample_value, scientific


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (0.31, "0.31"),
        (1e-6, "0.000001"),
        (1e-7, "1e-07"),
        (1e20, "100000000000000000000"),
        (1e22, "1e+22"),
        (-2.5e-9, "-2.5e-09"),
        (math.nan, "NaN"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
    ],
)
def test_a_sample_is_written_as_go_writes_it(value: float, written: str) -> None:
    assert sample_value(value) == written


@given(st.floats())
def test_a_written_number_reads_back_the_same(value: float) -> None:
    for written in (sample_value(value), plain_value(value), scientific(value)):
        again = float(written)
        assert again == value or (math.isnan(again) and math.isnan(value))


@pytest.mark.parametrize(
    ("ms", "written"), [(1_796_051_817_016, "1796051817.016"), (100, "0.100"), (2000, "2"), (-1500, "-1.500")]
)
def test_a_time_is_written_in_seconds_with_three_decimals_or_none(ms: int, written: str) -> None:
    assert sample_time(ms) == written
