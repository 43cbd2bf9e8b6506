"""What is drawn: the same seed the same run, and as many as are counted."""

from __future__ import annotations

from collections import Counter

import pytest

from inquest.crash import CrashPoint, Ending
from tests.crash.schedules import POINTS, POSTGRES_POINTS, Blow, beside, kills, named


def test_the_matrix_is_twenty_kills_at_each_of_the_24_points() -> None:
    drawn = kills(1, 20)

    assert len(drawn) == 480
    assert Counter(one.point for one in drawn) == dict.fromkeys(CrashPoint, 20)
    assert {one.blow for one in drawn} == {Blow.KILL}
    assert {one.at.ending for one in drawn} == {Ending.KILL}


def test_beside_it_every_point_has_a_zombie_and_three_a_restart_of_postgres() -> None:
    drawn = beside(1, 10)

    assert {one.point for one in drawn if one.blow is Blow.ZOMBIE} == set(CrashPoint)
    assert {one.point for one in drawn if one.blow is Blow.POSTGRES} == set(POSTGRES_POINTS)
    assert {one.at.ending for one in drawn} == {Ending.STOP}


def test_three_seeds_of_the_short_form_have_a_zombie_at_every_point() -> None:
    drawn = [one for seed in range(3) for one in beside(seed, 3)]

    assert Counter(one.point for one in drawn if one.blow is Blow.ZOMBIE) == dict.fromkeys(CrashPoint, 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_is_drawn_again_from_its_name_and_its_seed(seed: int) -> None:
    drawn = [*kills(seed, 3), *beside(seed, 3)]

    assert [named(one.name, seed) for one in drawn] == drawn
    assert kills(seed, 3) != kills(seed + 1, 3)


def test_no_passing_is_asked_for_that_nobody_may_come_to() -> None:
    drawn = [*kills(1, 100), *beside(1, 100)]

    assert all(1 <= one.passing <= POINTS[one.point].passings * one.alerts for one in drawn)
    assert {one.second is not None for one in drawn if one.blow is Blow.KILL} == {True, False}
    assert {one.second for one in drawn if one.blow is not Blow.KILL} == {None}
