"""What every destination promises, each over the real protocol of its vendor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from inquest.domain.delivery import DeliveryFailed, Sent
from tests.destinations.harness import HOUR, LOST, PATIENCE_S, STORED, Place, address, place_of, rendered
from tests.fakes.faults import Fault, Limited

ALL = ("folder", "slack#thread", "slack#report", "gitlab")
REMOTE = ALL[1:]


@pytest.fixture
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(place_of(request.param, tmp_path))


every = pytest.mark.parametrize("place", ALL, indirect=True)
remote = pytest.mark.parametrize("place", REMOTE, indirect=True)


async def first(place: Place, revision: int = 2) -> Sent | DeliveryFailed:
    return await place.destination.send(rendered(place, revision), address(place, revision), timeout_s=PATIENCE_S)


async def sent(place: Place, revision: int = 2) -> str:
    answer = await first(place, revision)
    assert isinstance(answer, Sent), answer
    return answer.reference


@every
async def test_a_first_send_is_one_message_and_is_found_by_its_marker(place: Place) -> None:
    reference = await sent(place)
    assert len(place.messages()) == 1
    assert await place.destination.find(address(place), timeout_s=PATIENCE_S) == Sent(reference=reference)


@every
async def test_what_was_not_sent_is_surely_not_found(place: Place) -> None:
    assert await place.destination.find(address(place), timeout_s=PATIENCE_S) is None
    await sent(place)
    assert await place.destination.find(address(place, revision=3), timeout_s=PATIENCE_S) is None


@every
async def test_the_same_report_gives_the_same_bytes(place: Place) -> None:
    assert rendered(place) == rendered(place)


@every
async def test_a_send_without_time_writes_nothing(place: Place) -> None:
    answer = await place.destination.send(rendered(place), address(place), timeout_s=-1.0)
    assert isinstance(answer, DeliveryFailed)
    assert (answer.retry, answer.uncertain, place.messages()) == (True, False, [])


@remote
async def test_an_edit_replaces_the_text_and_adds_no_message(place: Place) -> None:
    reference = await sent(place)
    for _ in range(2):  # it may be repeated
        answer = await place.destination.send(
            rendered(place, 3, note="A newer word."), address(place, 3, reference), timeout_s=PATIENCE_S
        )
        assert answer == Sent(reference=reference)
    (text,) = place.messages()
    assert "revision 3" in text


@remote
@pytest.mark.parametrize("fault", STORED)
async def test_a_first_send_whose_answer_is_lost_may_have_arrived_and_is_found(place: Place, fault: Fault) -> None:
    place.then(fault)
    answer = await first(place)
    assert isinstance(answer, DeliveryFailed)
    assert answer.uncertain
    assert len(place.messages()) == 1
    assert isinstance(await place.destination.find(address(place), timeout_s=PATIENCE_S), Sent)


@remote
@pytest.mark.parametrize("fault", LOST)
async def test_a_first_send_that_broke_off_is_uncertain_and_surely_absent_once_looked_for(
    place: Place, fault: Fault
) -> None:
    place.then(fault)
    answer = await first(place)
    assert isinstance(answer, DeliveryFailed)
    assert answer.uncertain
    assert await place.destination.find(address(place), timeout_s=PATIENCE_S) is None


@remote
async def test_a_vendor_that_never_answers_is_left_in_time(place: Place) -> None:
    place.then(Fault.STORE_THEN_HANG)
    answer = await place.destination.send(rendered(place), address(place), timeout_s=0.5)
    assert isinstance(answer, DeliveryFailed)
    assert answer.uncertain


@remote
async def test_a_vendor_that_asks_for_an_hour_is_told_so_at_once(place: Place) -> None:
    place.then(HOUR)
    answer = await asyncio.wait_for(first(place), PATIENCE_S)
    assert isinstance(answer, DeliveryFailed)
    assert (answer.retry, answer.uncertain, answer.retry_after_ms) == (True, False, 3_600_000)
    assert place.messages() == []


@remote
async def test_a_limit_without_a_time_leaves_the_wait_to_us(place: Place) -> None:
    place.then(Limited())
    answer = await first(place)
    assert isinstance(answer, DeliveryFailed)
    assert (answer.retry, answer.uncertain, answer.retry_after_ms) == (True, False, None)
    await sent(place)


@remote
async def test_a_refused_credential_is_a_refusal_for_good_and_is_not_repeated(place: Place) -> None:
    place.lock_out()
    answer = await first(place)
    assert isinstance(answer, DeliveryFailed)
    assert (answer.retry, answer.uncertain, place.messages()) == (False, False, [])


@remote
async def test_a_look_that_is_not_allowed_says_nothing_about_absence(place: Place) -> None:
    await sent(place)
    place.lock_out()
    found = await place.destination.find(address(place), timeout_s=PATIENCE_S)
    assert isinstance(found, DeliveryFailed)
    assert not found.retry


@remote
async def test_a_message_that_a_human_deleted_is_not_posted_anew(place: Place) -> None:
    reference = await sent(place)
    gone = reference[:-4] + "9999"
    answer = await place.destination.send(rendered(place, 3), address(place, 3, gone), timeout_s=PATIENCE_S)
    assert isinstance(answer, DeliveryFailed)
    assert (answer.retry, answer.uncertain, len(place.messages())) == (False, False, 1)


@remote
async def test_no_failure_shows_the_credential_or_the_address(place: Place) -> None:
    place.then(Fault.ERROR)
    answer = await first(place)
    shown = f"{answer!r} {place.destination!r} {vars(place.destination)!r}"
    assert "xoxb-" not in shown
    assert "glpat-" not in shown
