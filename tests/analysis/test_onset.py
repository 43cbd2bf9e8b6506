from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.analysis.onset import Onset, extreme_from, find_onset, split_baseline, split_leading, step_of

MINUTE = 60_000
Values = Sequence[float | None]


def points(values: Values, start: int = 0) -> tuple[tuple[int, float | None], ...]:
    return tuple((start + index * MINUTE, value) for index, value in enumerate(values))


CALM = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.1, 0.9, 1.0]


def onset(values: Values, baseline: Values = CALM) -> Onset | None:
    return find_onset(points(values, start=10 * MINUTE), points(baseline))


def minute(found: Onset | None) -> float | None:
    return None if found is None else found.at_ms / MINUTE - 10


@pytest.mark.parametrize(
    ("rule", "values", "at_minute"),
    [
        ("a step starts at its first sample", [1.0, 1.0, 1.0, 5.0, 5.0, 5.0], 3),
        ("a fall is an onset too", [1.0, 1.0, 0.0, 0.0, 0.0], 2),
        ("a series that never leaves has none", CALM, None),
        ("one spike is none", [1.0, 9.0, 1.0, 1.0, 9.0, 1.0], None),
        ("two samples are too few to last", [1.0, 1.0, 9.0, 9.0], None),
        ("samples on both sides in turn are noise, not a departure", [9.0, -9.0, 9.0, -9.0, 9.0, -9.0], None),
        ("gaps inside a departure do not end it", [1.0, 5.0, None, 5.0, None, 5.0], 1),
        ("a series of gaps has none", [None, None, None, None], None),
        ("a series without points has none", [], None),
        ("a ramp starts where it begins to rise", [1.0, 1.0, 1.2, 1.35, 1.5, 2.0, 3.0, 4.0, 5.0], 2),
        ("the first of two departures counts", [1.0, 5.0, 5.0, 5.0, 1.0, 1.0, 9.0, 9.0, 9.0], 1),
    ],
)
def test_an_onset_is_the_first_lasting_departure(rule: str, values: Values, at_minute: int | None) -> None:
    assert minute(onset(values)) == at_minute, rule


@pytest.mark.parametrize(
    ("rule", "baseline", "values", "at_minute"),
    [
        ("a constant baseline has a scale of its level", [4.0] * 10, [4.0, 4.05, 4.0, 6.0, 6.0, 6.0], 3),
        ("a small wobble around a constant baseline is none", [100.0] * 10, [100.5, 101.0, 100.9, 100.2, 101.0], None),
        ("a baseline of zeros has the window's scale", [0.0] * 10, [0.0, 0.0, 0.4, 0.5, 0.6], 2),
        ("zeros after zeros are none", [0.0] * 10, [0.0] * 10, None),
        ("a past spike in the baseline hides nothing", [*CALM, 50.0], [1.0, 5.0, 5.0, 5.0], 1),
        ("what the baseline does by itself is none", [1.0, 1.0, 6.0, 6.0] * 5, [6.0, 6.0, 6.0, 1.0], None),
        ("noise as wide as ever is none", [9.0, 10.0, 11.0, 10.0, 9.0] * 2, [14.0, 14.0, 14.0], None),
        ("beyond five spreads of it is one", [9.0, 10.0, 11.0, 10.0, 9.0] * 2, [10.0, 18.0, 18.0, 18.0], 1),
        ("nor what it does now and then", [*([1.0] * 18), 6.0, 6.0], [6.0, 6.0, 6.0, 1.0], None),
        ("but further than ever is one", [*([1.0] * 18), 6.0, 6.0], [1.0, 7.0, 7.0, 7.0], 1),
        ("four samples are no baseline", [1.0, 1.0, 1.0, 1.0], [9.0, 9.0, 9.0], None),
        ("gaps do not count as baseline", [1.0, 1.0, 1.0, 1.0, None, None], [9.0, 9.0, 9.0], None),
    ],
)
def test_what_is_normal_comes_from_the_baseline(
    rule: str, baseline: Values, values: Values, at_minute: int | None
) -> None:
    assert minute(onset(values, baseline)) == at_minute, rule


def test_an_onset_says_how_far_the_series_went() -> None:
    found = onset([1.0, 5.0, 7.0, 6.0], [1.0] * 10)

    assert found is not None
    assert (found.direction, found.before, found.extreme) == ("up", 1.0, 7.0)
    assert found.spreads_away == pytest.approx(6.0 / found.spread)


@given(
    scale=st.floats(0.001, 1_000_000),
    shift=st.floats(-1000, 1000),
    start=st.integers(0, 15),
)
def test_the_onset_of_a_big_step_is_found_whatever_its_unit(scale: float, shift: float, start: int) -> None:
    values = [(shift + (50 if index >= start else 0)) * scale for index in range(20)]
    baseline = [(shift + wobble) * scale for wobble in (0.0, 0.1, -0.1, 0.05, -0.05, 0.0)]
    found = find_onset(points(values, start=10 * MINUTE), points(baseline))

    small_for_its_level = abs(shift) * 0.02 * 5 >= 50
    assert small_for_its_level or minute(found) == start


def test_the_leading_third_stands_in_for_a_baseline() -> None:
    leading, rest = split_leading(points(range(9)))

    assert [value for _, value in leading] == [0, 1, 2]
    assert [value for _, value in rest] == [3, 4, 5, 6, 7, 8]


def test_the_step_is_the_smallest_distance() -> None:
    assert step_of([(0, 1.0), (30, 1.0), (45, None)]) == 15
    assert step_of([(0, 1.0)]) == 0


def test_the_extreme_is_the_furthest_from_the_middle_whichever_side() -> None:
    assert extreme_from([(0, 1.0), (1, -9.0), (2, 8.0)], 0.0) == -9.0


@pytest.mark.parametrize(
    ("before", "start_ms", "expected"),
    [(5, 5, 5), (4, 4, 3), (5, None, 3)],
    ids=["enough before the window", "too few before it: the leading third", "no window: the leading third"],
)
def test_the_baseline_is_what_lies_before_the_window_where_that_is_enough(
    before: int, start_ms: int | None, expected: int
) -> None:
    series = [(at, 1.0) for at in range(before + 5)]
    baseline, rest = split_baseline(series, start_ms)
    assert (len(baseline), [*baseline, *rest]) == (expected, series)
