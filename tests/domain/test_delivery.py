import pytest

from inquest.domain.delivery import (
    DELIVERY_BACKOFF_S,
    MAX_DELIVERY_ATTEMPTS,
    Absent,
    DeliveryFailed,
    GivenUp,
    Postponed,
    Uncertain,
    Unknowable,
    after_absence,
    after_blind_look,
    after_lost_answer,
    after_refusal,
)
from inquest.domain.failure import MAX_RETRY_AFTER_MS

BUSY = DeliveryFailed(reason="busy", retry=True)
GONE = DeliveryFailed(reason="no such channel", retry=False)


@pytest.mark.parametrize(
    ("attempts", "wait_s"), [(1, 2), (2, 10), (3, 60), (7, 3_600), (8, 3_600), (MAX_DELIVERY_ATTEMPTS - 1, 3_600)]
)
def test_each_refusal_waits_longer_than_the_one_before(attempts: int, wait_s: int) -> None:
    assert after_refusal(attempts, BUSY) == Postponed(reason="busy", wait_ms=wait_s * 1_000)
    assert after_blind_look(attempts, BUSY) == Uncertain(reason="busy", wait_ms=wait_s * 1_000)


def test_tries_are_bounded() -> None:
    assert after_refusal(MAX_DELIVERY_ATTEMPTS, BUSY) == GivenUp(reason="busy")
    assert after_blind_look(MAX_DELIVERY_ATTEMPTS, BUSY) == Unknowable(reason="busy")


def test_a_first_send_that_may_have_arrived_is_looked_up_however_often_it_was_tried() -> None:
    waits = [after_lost_answer(tries, "lost", is_edit=False) for tries in (1, 2, MAX_DELIVERY_ATTEMPTS + 5)]
    assert waits == [Uncertain(reason="lost", wait_ms=seconds * 1_000) for seconds in (2, 10, 3_600)]


def test_an_edit_that_is_lost_again_and_again_ends() -> None:
    last = MAX_DELIVERY_ATTEMPTS
    assert after_lost_answer(last - 1, "lost", is_edit=True) == Uncertain(reason="lost", wait_ms=3_600_000)
    assert after_lost_answer(last, "lost", is_edit=True) == GivenUp(reason="lost")


def test_a_first_send_that_never_arrives_ends() -> None:
    assert after_absence(MAX_DELIVERY_ATTEMPTS - 1) == Absent()
    assert isinstance(after_absence(MAX_DELIVERY_ATTEMPTS), GivenUp)


def test_a_refusal_for_good_is_not_tried_again() -> None:
    assert after_refusal(1, GONE) == GivenUp(reason="no such channel")
    assert after_blind_look(1, GONE) == Unknowable(reason="no such channel")


@pytest.mark.parametrize(
    ("asked_ms", "wait_ms"),
    [(0, 2_000), (1_500, 2_000), (30_000, 30_000), (MAX_RETRY_AFTER_MS + 1, MAX_RETRY_AFTER_MS)],
)
def test_the_wait_that_a_destination_asks_for_is_honoured_up_to_an_hour(asked_ms: int, wait_ms: int) -> None:
    asking = BUSY.but(retry_after_ms=asked_ms)
    assert after_refusal(1, asking) == Postponed(reason="busy", wait_ms=wait_ms)


def test_waits_never_shrink() -> None:
    assert list(DELIVERY_BACKOFF_S) == sorted(DELIVERY_BACKOFF_S)
