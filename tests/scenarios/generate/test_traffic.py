from __future__ import annotations

import pytest

from inquest.scenarios.generate.timeline import MINUTE, SECOND, timeline
from inquest.scenarios.generate.traffic import traffic


@pytest.mark.parametrize("seed", range(5))
def test_the_front_end_begins_to_fail_later_than_checkout(seed: int) -> None:
    times = timeline(seed)
    load = traffic(seed, times)

    assert load.failing("checkout", times.onset) == 0
    assert load.failing("checkout", times.onset + 30 * SECOND) > 0
    assert load.failing("frontend", times.onset + 30 * SECOND) == 0
    assert load.failing("frontend", times.onset + 60 * SECOND) > 0


@pytest.mark.parametrize("seed", range(5))
def test_orders_that_fail_never_reach_payments(seed: int) -> None:
    times = timeline(seed)
    load = traffic(seed, times)
    worst = times.full_effect + MINUTE

    ratio = load.of("payments", worst) / load.of("frontend", worst)
    assert ratio == pytest.approx(0.17 * (1 - load.failing("checkout", worst)))
    assert load.failing("payments", worst) == 0
