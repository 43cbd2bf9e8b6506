"""Receipts: one a post, whatever becomes of it, and the accounting equation over them."""

from __future__ import annotations

import asyncio

import pytest

from inquest.domain.intake import MemberOutcome, ReceiptState
from inquest.errors import NotFound
from tests.store.door import Door, arrival, counts, firing, intake, resolved


async def test_a_second_try_under_one_receipt_id_gives_the_first_answer_and_changes_nothing(door: Door) -> None:
    arrived = arrival(firing(pod="a"), firing(pod="b"))
    first = await door.take(arrived, "receipt-1")
    again = await door.take(arrived, "receipt-1")

    assert again == first.but(outcomes=None)
    assert door.column("select occurrences from alert") == [1, 1]
    assert door.row("select count(*) as found from intake_receipt") == {"found": 1}


async def test_two_tries_at_once_under_one_receipt_id_are_taken_once(door: Door) -> None:
    arrived = arrival(firing())
    answers = await asyncio.gather(*(door.take(arrived, "receipt-1") for _ in range(4)))

    assert {counts(answer)["opened"] for answer in answers} == {1}
    assert door.column("select occurrences from alert") == [1]


async def test_a_repeated_delivery_id_changes_nothing_but_a_receipt(door: Door) -> None:
    first = await door.take(arrival(firing(), delivery_id="d-1"))
    again = await door.take(arrival(firing(), firing(pod="b"), delivery_id="d-1"))

    assert (again.state, counts(again)) == (ReceiptState.REPEATED, {"duplicate": 2})
    assert again.investigations == first.investigations
    assert door.column("select occurrences from alert") == [1]
    assert door.accounts() == {"accepted": 3, "opened": 1, "duplicate": 2}


async def test_a_delivery_id_is_taken_once_when_it_comes_four_times_at_once(door: Door) -> None:
    arrived = arrival(firing(), delivery_id="d-1")
    answers = await asyncio.gather(*(door.take(arrived) for _ in range(4)))

    assert sorted(str(answer.state) for answer in answers) == ["accepted", "repeated", "repeated", "repeated"]
    assert door.column("select occurrences from alert") == [1]


async def test_a_delivery_id_of_any_length_is_a_key(door: Door) -> None:
    vast = "d" * 100_000
    await door.take(arrival(firing(), delivery_id=vast))
    assert (await door.take(arrival(firing(), delivery_id=vast))).state is ReceiptState.REPEATED
    assert (await door.take(arrival(firing(), delivery_id=vast + "e"))).state is ReceiptState.ACCEPTED


async def test_one_delivery_id_of_two_intakes_is_two_deliveries(door: Door) -> None:
    await door.take(arrival(firing(), delivery_id="d-1"))
    other = await door.take(arrival(firing(), delivery_id="d-1", into=intake(name="other")))

    assert other.state is ReceiptState.ACCEPTED


async def test_a_repeated_body_still_counts(door: Door) -> None:
    await door.take(arrival(firing()))
    assert counts(await door.take(arrival(firing()))) == {"duplicate": 1}

    assert door.column("select occurrences from alert") == [2]
    assert door.row("select count(*) as found from receipt_body") == {"found": 1}


async def test_members_that_are_not_understood_are_counted_beside_those_that_are(door: Door) -> None:
    accepted = await door.take(arrival(firing(), quarantined=7))

    assert (accepted.state, counts(accepted)) == (ReceiptState.ACCEPTED, {"opened": 1, "quarantined": 7})
    assert door.accounts() == {"accepted": 8, "opened": 1, "quarantined": 7}


async def test_a_post_that_yields_nothing_counts_as_one(door: Door) -> None:
    accepted = await door.take(arrival(quarantine="invalid_json at byte 3"))

    assert (accepted.state, counts(accepted), accepted.outcomes) == (ReceiptState.QUARANTINED, {"quarantined": 1}, ())
    assert door.accounts() == {"accepted": 1, "quarantined": 1}


async def test_receipts_are_listed_newest_first_page_by_page(door: Door) -> None:
    for number in range(3):
        await door.take(arrival(firing(pod=str(number))), f"receipt-{number}")
    await door.take(arrival(quarantine="not_v4: missing version"), "receipt-3")

    page = await door.alerts.receipts("acme", most=2)
    assert [receipt.receipt_id for receipt in page] == ["receipt-3", "receipt-2"]
    rest = await door.alerts.receipts("acme", before="receipt-2")
    assert [(receipt.receipt_id, receipt.counts) for receipt in rest] == [
        ("receipt-1", {MemberOutcome.JOINED: 1}), ("receipt-0", {MemberOutcome.OPENED: 1}),
    ]  # fmt: skip
    quarantined = await door.alerts.receipts("acme", state=ReceiptState.QUARANTINED)
    assert [receipt.reason for receipt in quarantined] == ["not_v4: missing version"]
    assert await door.alerts.receipts("other") == ()


async def test_the_bytes_of_a_post_are_kept_for_its_own_workspace(door: Door) -> None:
    arrived = arrival(firing())
    await door.take(arrived)

    assert await door.alerts.body("acme", arrived.body_digest) == arrived.body
    with pytest.raises(NotFound):
        await door.alerts.body("other", arrived.body_digest)


async def test_noise_moves_the_opener_of_its_own_receipt_once(door: Door) -> None:
    accepted = await door.take(arrival(firing(service="a"), firing(service="b"), firing(service="b", pod="x")))
    for _ in range(2):
        door.rows("select count_as_noise(%s)", accepted.investigations[0].investigation_id)

    assert door.accounts() == {"accepted": 3, "opened": 1, "noise": 1, "joined": 1}


async def test_the_equation_notices_a_member_that_is_lost(door: Door) -> None:
    await door.post(firing(), resolved(pod="b"))
    door.rows("update intake_receipt set counts = counts - 'resolved_only'")

    assert door.row("select balanced from accounting('acme')") == {"balanced": False}


async def test_the_equation_notices_an_investigation_that_was_opened_for_nobody(door: Door) -> None:
    await door.post(firing())
    door.rows("update intake_receipt set counts = '{\"joined\": 1}'")

    assert door.row("select balanced from accounting('acme')") == {"balanced": False}
