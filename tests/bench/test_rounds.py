from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.rounds import rounds


def ticking(by: float) -> Callable[[], float]:
    moments = iter(number * by for number in range(100))
    return lambda: next(moments)


@pytest.mark.parametrize(("tick", "counted"), [(0.1, [1, 2, 3]), (1.0, [1, 2]), (2.0, [1]), (9.0, [1])])
def test_no_round_begins_once_the_time_has_gone_but_the_first(tick: float, counted: list[int]) -> None:
    assert list(rounds(3, 2.0, ticking(tick))) == counted
