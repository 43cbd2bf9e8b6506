import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.analysis.correlation import spearman


def points(values: list[float | None], offset: int = 0) -> list[tuple[int, float | None]]:
    return [(offset + index, value) for index, value in enumerate(values)]


RISING: list[float | None] = [float(n) for n in range(12)]


@pytest.mark.parametrize(
    ("rule", "first", "second", "expected"),
    [
        ("the same course", RISING, RISING, 1.0),
        ("a curve need not be a line", RISING, [float(n) ** 3 for n in range(12)], 1.0),
        ("one falls as the other rises", RISING, RISING[::-1], -1.0),
        ("ties share their rank", RISING, [0.0] * 6 + [1.0] * 6, 0.8690),
        ("a constant correlates with nothing", RISING, [1.0] * 12, None),
        ("nine common samples are too few", RISING[:9], RISING[:9], None),
        ("gaps are not common", [None, None, None, *RISING[:9]], RISING, None),
    ],
)
def test_rank_correlation(
    rule: str, first: list[float | None], second: list[float | None], expected: float | None
) -> None:
    found = spearman(points(first), points(second))
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-4)), rule


def test_one_spike_does_not_make_a_correlation() -> None:
    noise: list[float | None] = [3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 1000.0]
    other: list[float | None] = [1.0, 3.0, 2.0, 1.0, 3.0, 2.0, 1.0, 3.0, 2.0, 1.0, 3.0, 1000.0]
    found = spearman(points(noise), points(other))
    assert found is not None
    assert abs(found) < 0.7  # Pearson gives 1.0 here


def test_only_samples_at_the_same_moment_are_paired() -> None:
    assert spearman(points(RISING), points(RISING, offset=1000)) is None


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=40), st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=40)
)
def test_it_is_symmetric_and_between_minus_one_and_one(first: list[float], second: list[float]) -> None:
    one = spearman(points(list(first)), points(list(second)))
    other = spearman(points(list(second)), points(list(first)))
    assert one == (None if other is None else pytest.approx(other))
    assert one is None or -1 <= one <= 1
