from __future__ import annotations

import pytest

from inquest.scenarios.generate.play import play
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Story
from inquest.scenarios.generate.timeline import MINUTE, SECOND
from tests.scenarios.generate.variations import SEEDS, seeds_of


@pytest.mark.parametrize("seed", SEEDS)
def test_the_front_end_begins_to_fail_later_than_checkout(seed: int) -> None:
    one = play(seed)
    load, onset = one.load, one.times.onset

    assert load.failing(Part.CHECKOUT, onset) == 0
    assert load.failing(Part.CHECKOUT, onset + 30 * SECOND) > 0
    assert load.failing(Part.FRONTEND, onset + 30 * SECOND) == 0
    assert load.failing(Part.FRONTEND, onset + 60 * SECOND) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_orders_that_fail_never_reach_payments(seed: int) -> None:
    one = play(seed)
    worst = one.times.full_effect + MINUTE

    reach = one.load.of(Part.PAYMENTS, worst) / one.load.of(Part.FRONTEND, worst)
    assert reach == pytest.approx(one.much.shares[Part.PAYMENTS] * (1 - one.load.failing(Part.CHECKOUT, worst)))
    assert one.load.failing(Part.PAYMENTS, worst) == 0


@pytest.mark.parametrize("seed", seeds_of(Story.SURGE, 5))
def test_in_a_surge_what_fails_is_what_finds_no_connection(seed: int) -> None:
    one = play(seed)
    worst = one.times.full_effect

    wanted = one.much.held * one.load.surge(worst)
    assert 1 - one.much.pool_size.before / wanted == pytest.approx(one.load.failing(Part.CHECKOUT, worst))


@pytest.mark.parametrize("seed", [*seeds_of(Story.THEIR_RELEASE, 3), *seeds_of(Story.SLOW_DATABASE, 3)])
def test_connections_are_held_so_much_longer_as_what_is_waited_for_is_slower(seed: int) -> None:
    one = play(seed)
    slow = Part.PAYMENTS if one.story is Story.THEIR_RELEASE else Part.DATABASE
    is_new = Part.CHECKOUT in one.times.rollouts
    at, calm = one.times.full_effect, one.times.trouble_from - MINUTE

    longer = one.load.strain(at, one.much.size(is_new=is_new)) - 1
    assert longer == pytest.approx((one.load.slowness(slow, at) - 1) * one.much.held_for_others)
    assert one.load.slowness(slow, calm) == 1
