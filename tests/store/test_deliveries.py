"""The rules of one act of sending, on Postgres: who may send what, and when."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from inquest.destinations.shared.bundle import MAX_EVIDENCE_BYTES, pack
from inquest.domain.budget import MAX_CONTENT_BYTES
from inquest.domain.canonical import digest_of
from inquest.domain.delivery import (
    Absent,
    DeliveryClaimed,
    GivenUp,
    Postponed,
    Sent,
    Uncertain,
    Unknowable,
    Unsaid,
)
from inquest.errors import FenceLost, InvariantBroken
from inquest.store import deliveries
from inquest.store.deliveries import PostgresDeliveries
from tests.store.builders import Store, opening

LEASE = timedelta(seconds=30)
SEND_FOR = timedelta(seconds=30)
NOW = timedelta(0)
TARGET = "inv-1-folder"


class Sending:
    """The deliveries of one database, and what a test does to them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.deliveries = PostgresDeliveries(store.database)

    def plan(self, *kinds: str, name: str = "inv-1") -> None:
        revisions = [{"kind": kind, "note": ""} for kind in kinds]
        with self.store.connection() as connection:
            connection.execute("select plan_deliveries(%s, %s::jsonb)", (name, json.dumps(revisions)))

    async def claim(self, owner: str = "owner-1", target: str = TARGET, lease: timedelta = LEASE) -> DeliveryClaimed:
        claimed = await self.deliveries.claim(owner, target, lease=lease)
        assert claimed is not None
        return claimed

    async def due(self, owner: str = "owner-2", target: str = TARGET) -> bool:
        return await self.deliveries.claim(owner, target, lease=LEASE) is not None

    async def reserved(self, owner: str = "owner-1", send_for: timedelta = SEND_FOR) -> DeliveryClaimed:
        claimed = await self.claim(owner)
        await self.deliveries.reserve(claimed, b"report", send_for=send_for)
        return claimed

    async def sent(self, reference: str = "ref-1") -> None:
        await self.deliveries.end(await self.reserved(), Sent(reference=reference))

    def states(self) -> dict[int, str]:
        rows = self.store.look("select revision, state from delivery where target_id = %s", TARGET)
        return {row["revision"]: row["state"] for row in rows}

    def row(self, revision: int = 1) -> dict[str, Any]:
        (found,) = self.store.look("select * from delivery where target_id = %s and revision = %s", TARGET, revision)
        return found

    def let_pass(self, span: str = "2 hours") -> None:
        """Let time pass for the target: every moment that it waits for moves into the past."""
        self.store.look(
            "update delivery_target set lease_expires_at = lease_expires_at - %s::interval,"
            " retry_at = retry_at - %s::interval, again_at = again_at - %s::interval",
            span,
            span,
            span,
        )
        self.store.look(
            "update delivery set send_deadline = send_deadline - %s::interval, not_before = not_before - %s::interval",
            span,
            span,
        )

    def bells(self) -> list[str]:
        rows = self.store.look("select args from procrastinate.procrastinate_jobs where queue_name = 'deliveries'")
        return [row["args"]["id"] for row in rows]

    def silence(self) -> None:
        self.store.look("delete from procrastinate.procrastinate_jobs")


@pytest.fixture
async def sending(store: Store) -> Sending:
    await store.opened("inv-1")
    store.add_target("inv-1")
    return Sending(store)


async def test_a_planned_revision_is_sent_by_one_owner_at_a_time(sending: Sending) -> None:
    sending.plan("received")
    claims = await asyncio.gather(*(sending.deliveries.claim(f"owner-{n}", TARGET, lease=LEASE) for n in range(8)))
    assert len([claim for claim in claims if claim is not None]) == 1


async def test_a_claim_says_what_to_send_where(sending: Sending) -> None:
    sending.plan("received")
    claimed = await sending.claim()
    assert (claimed.workspace, claimed.destination, claimed.episode_id) == ("acme", "folder", "episode-1")
    assert claimed.planned_at == sending.row()["planned_at"]
    assert (claimed.revision, claimed.kind, claimed.step) == (1, "received", "send")
    assert (claimed.reference, claimed.thread, claimed.attempts) == (None, None, 0)
    assert claimed.marker == "inv-1/r1"


async def test_nothing_planned_gives_no_claim(sending: Sending) -> None:
    assert not await sending.due()
    assert await sending.deliveries.claim("owner-1", "no such target", lease=LEASE) is None


async def test_only_the_newest_unsent_revision_goes_and_older_ones_are_superseded(sending: Sending) -> None:
    sending.plan("received", "progress", "report")
    assert (await sending.claim()).revision == 3
    assert sending.states() == {1: "superseded", 2: "superseded", 3: "planned"}


async def test_a_revision_that_is_planned_for_later_does_not_hold_up_an_earlier_one(sending: Sending) -> None:
    sending.plan("received", "members")
    sending.store.look("update delivery set not_before = now() + interval '1 minute' where revision = 2")
    assert (await sending.claim()).revision == 1
    assert sending.states() == {1: "planned", 2: "planned"}


async def test_what_is_sent_is_stored_by_digest_before_the_send(sending: Sending) -> None:
    sending.plan("report")
    await sending.reserved()
    assert sending.row()["fingerprint"] == digest_of(b"report")
    assert (await sending.store.content.get([digest_of(b"report")])) == {digest_of(b"report"): b"report"}
    assert sending.row()["state"] == "reserved"


async def test_a_sent_revision_keeps_the_reference_for_the_next_one(sending: Sending) -> None:
    sending.plan("received")
    await sending.sent("ref-1")
    sending.plan("report")
    claimed = await sending.claim()
    assert (claimed.revision, claimed.reference, claimed.thread) == (2, "ref-1", None)


async def test_a_revision_of_which_nothing_is_said_is_superseded_and_the_next_one_goes(sending: Sending) -> None:
    sending.plan("received")
    await sending.deliveries.end(await sending.claim(), Unsaid())
    assert sending.states() == {1: "superseded"}
    assert not await sending.due()
    sending.plan("report")
    assert (await sending.claim()).revision == 2


# ---- refusals


async def test_a_lost_sender_can_neither_reserve_nor_end_nor_release(sending: Sending) -> None:
    sending.plan("report")
    lost = await sending.claim("owner-1")
    sending.let_pass()
    holder = await sending.claim("owner-2")
    with pytest.raises(FenceLost):
        await sending.deliveries.reserve(lost, b"old", send_for=SEND_FOR)
    with pytest.raises(FenceLost):
        await sending.deliveries.end(lost, Sent(reference="old"))
    with pytest.raises(FenceLost):
        await sending.deliveries.release(lost.fence)
    await sending.deliveries.reserve(holder, b"new", send_for=SEND_FOR)
    assert sending.row()["fingerprint"] == digest_of(b"new")


async def test_an_expired_lease_that_nobody_took_is_still_good(sending: Sending) -> None:
    sending.plan("report")
    claimed = await sending.claim(lease=NOW)
    await sending.deliveries.reserve(claimed, b"report", send_for=SEND_FOR)
    assert not await sending.due()


async def test_a_folder_with_all_the_evidence_that_it_may_hold_can_be_reserved(sending: Sending) -> None:
    sending.plan("report")
    claimed = await sending.claim()
    rendered = pack({"report.json": bytes(MAX_CONTENT_BYTES), "evidence/e.json": bytes(MAX_EVIDENCE_BYTES)})

    await sending.deliveries.reserve(claimed, rendered, send_for=SEND_FOR)

    assert sending.row()["fingerprint"] == digest_of(rendered)


async def test_more_than_any_form_comes_to_is_not_stored(sending: Sending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MAX_RENDERED_BYTES", 5)
    sending.plan("report")

    with pytest.raises(InvariantBroken, match="6 bytes"):
        await sending.reserved()


async def test_a_revision_is_reserved_once(sending: Sending) -> None:
    sending.plan("report")
    claimed = await sending.reserved()
    with pytest.raises(InvariantBroken):
        await sending.deliveries.reserve(claimed, b"report", send_for=SEND_FOR)


# ---- endings


async def test_a_refused_send_waits_and_so_does_a_newer_revision(sending: Sending) -> None:
    sending.plan("report")
    claimed = await sending.reserved()
    await sending.deliveries.end(claimed, Postponed(reason="rate limited", wait_ms=3_600_000))
    sending.plan("resolved")
    assert not await sending.due()
    assert sending.row()["outcome"] == "rate limited"
    sending.let_pass()
    assert (await sending.claim()).revision == 2
    assert sending.states() == {1: "superseded", 2: "planned"}


async def test_tries_are_counted_whether_or_not_they_came_to_be_reserved(sending: Sending) -> None:
    sending.plan("report")
    await sending.deliveries.end(await sending.reserved(), Postponed(reason="503", wait_ms=0))
    await sending.deliveries.end(await sending.claim(), Postponed(reason="the report could not be made", wait_ms=0))
    assert (await sending.claim()).attempts == 2


async def test_a_given_up_revision_does_not_stop_the_next_one(sending: Sending) -> None:
    sending.plan("report")
    await sending.deliveries.end(await sending.reserved(), GivenUp(reason="no such channel"))
    assert sending.states() == {1: "failed"}
    assert not await sending.due()
    sending.plan("resolved")
    assert (await sending.claim()).revision == 2


async def test_a_first_send_that_may_have_arrived_is_looked_up_after_its_deadline(sending: Sending) -> None:
    sending.plan("received")
    await sending.deliveries.end(await sending.reserved(), Uncertain(reason="the answer was lost"))
    sending.plan("report")
    assert not await sending.due(), "a newer revision waits for the reserved one"
    sending.let_pass()
    looking = await sending.claim("owner-2")
    assert (looking.step, looking.revision) == ("find", 1)


async def test_a_first_send_of_a_dead_owner_is_looked_up_after_its_deadline(sending: Sending) -> None:
    sending.plan("received")
    await sending.reserved("dead")
    sending.store.look("update delivery_target set lease_expires_at = now() - interval '1 second'")
    assert not await sending.due(), "a take-over waits for the deadline of the send"
    sending.let_pass()
    assert (await sending.claim("owner-2")).step == "find"


async def test_a_send_that_was_found_counts_as_sent(sending: Sending) -> None:
    sending.plan("received")
    await sending.reserved("dead")
    sending.let_pass()
    await sending.deliveries.end(await sending.claim("owner-2"), Sent(reference="ref-1"))
    assert sending.states() == {1: "sent"}
    assert sending.store.look("select reference from delivery_target") == [{"reference": "ref-1"}]


async def test_a_send_that_is_surely_absent_is_planned_again_at_once(sending: Sending) -> None:
    sending.plan("received")
    await sending.reserved("dead")
    sending.let_pass()
    await sending.deliveries.end(await sending.claim("owner-2"), Absent())
    claimed = await sending.claim("owner-3")
    assert (claimed.step, claimed.revision, claimed.attempts) == ("send", 1, 1)


async def test_a_look_that_saw_nothing_is_a_try_and_waits(sending: Sending) -> None:
    sending.plan("received")
    await sending.reserved("dead")
    sending.let_pass()
    await sending.deliveries.end(await sending.claim("owner-2"), Uncertain(reason="down", wait_ms=60_000))
    assert not await sending.due()
    sending.let_pass()
    looking = await sending.claim("owner-3")
    assert (looking.step, looking.attempts) == ("find", 2)


async def test_after_an_unknowable_first_send_nothing_goes_to_the_target(sending: Sending) -> None:
    sending.plan("received")
    await sending.reserved("dead")
    sending.let_pass()
    await sending.deliveries.end(await sending.claim("owner-2"), Unknowable(reason="no read access"))
    sending.plan("report")
    assert sending.states() == {1: "unknown_outcome", 2: "planned"}
    assert not await sending.due()


async def test_a_reserved_edit_is_repeated_and_once_more_a_minute_later(sending: Sending) -> None:
    sending.plan("received")
    await sending.sent()
    sending.plan("progress")
    await sending.reserved("dead")
    sending.plan("report")
    sending.let_pass()
    await sending.deliveries.end(await _reserve(sending, "owner-2", expect=3), Sent(reference="ref-1"))
    assert sending.states() == {1: "sent", 2: "superseded", 3: "sent"}
    assert not await sending.due(), "not before its minute has passed"
    sending.let_pass("61 seconds")
    await sending.deliveries.end(await _reserve(sending, "owner-3", expect=3), Sent(reference="ref-1"))
    assert sending.states()[3] == "sent"
    sending.let_pass()
    assert not await sending.due()


async def _reserve(sending: Sending, owner: str, *, expect: int) -> DeliveryClaimed:
    claimed = await sending.claim(owner)
    assert (claimed.step, claimed.revision, claimed.reference) == ("send", expect, "ref-1")
    await sending.deliveries.reserve(claimed, b"report", send_for=SEND_FOR)
    return claimed


# ---- bells


async def test_an_ending_rings_when_more_is_due(sending: Sending) -> None:
    sending.plan("received")
    claimed = await sending.reserved()
    sending.plan("report")
    sending.silence()
    await sending.deliveries.end(claimed, Sent(reference="ref-1"))
    assert sending.bells() == [TARGET]


async def test_an_ending_is_quiet_when_nothing_is_due(sending: Sending) -> None:
    sending.plan("received")
    claimed = await sending.reserved()
    sending.silence()
    await sending.deliveries.end(claimed, Postponed(reason="503", wait_ms=60_000))
    assert sending.bells() == []


async def test_a_released_target_is_due_again_at_once(sending: Sending) -> None:
    sending.plan("received")
    claimed = await sending.claim()
    sending.silence()
    await sending.deliveries.release(claimed.fence)
    assert sending.bells() == [TARGET]
    assert await sending.due()


async def test_the_next_due_of_a_destination_is_the_one_that_waited_longest(sending: Sending) -> None:
    for name, destination in (("inv-2", "folder"), ("inv-3", "folder"), ("inv-3", "slack")):
        await sending.store.open(opening(name))
        sending.store.add_target(name, destination)
        sending.plan("received", name=name)
    sending.store.look("update delivery set planned_at = now() - interval '1 hour' where target_id = 'inv-3-folder'")
    assert await sending.deliveries.next_due("acme", "folder") == "inv-3-folder"
    assert await sending.deliveries.next_due("acme", "slack") == "inv-3-slack"
    assert await sending.deliveries.next_due("other", "folder") is None
    assert await sending.deliveries.place("inv-3-slack") == ("acme", "slack")
