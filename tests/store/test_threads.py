"""Threads, on Postgres: an episode has one root at a destination, and replies wait for it."""

import asyncio
import json
from datetime import timedelta

import pytest

from inquest.domain.delivery import Absent, DeliveryClaimed, GivenUp, Postponed, Sent, Thread, Uncertain, Unknowable
from inquest.errors import FenceLost
from inquest.store.deliveries import PostgresDeliveries
from tests.store.builders import Store, opening

LEASE = timedelta(seconds=30)
ROOT, REPLY = "slack#thread", "slack#report"


class Threads:
    """The deliveries of one episode with a destination that speaks in a thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.deliveries = PostgresDeliveries(store.database)

    async def open(self, name: str, *messages: str, parent: str | None = None) -> None:
        await self.store.open(opening(name, parent_id=parent))
        for message in messages or (ROOT, REPLY):
            self.store.add_target(name, message)

    def plan(self, kind: str, name: str = "inv-1") -> None:
        with self.store.connection() as connection:
            connection.execute(
                "select plan_deliveries(%s, %s::jsonb)", (name, json.dumps([{"kind": kind, "note": ""}]))
            )

    async def claim(self, message: str, name: str = "inv-1", owner: str = "owner-1") -> DeliveryClaimed | None:
        return await self.deliveries.claim(owner, f"{name}-{message}", lease=LEASE)

    async def reserved(self, message: str, name: str = "inv-1") -> DeliveryClaimed:
        claimed = await self.claim(message, name)
        assert claimed is not None
        await self.deliveries.reserve(claimed, b"text", send_for=LEASE)
        return claimed

    async def sent(self, message: str, reference: str, name: str = "inv-1") -> None:
        await self.deliveries.end(await self.reserved(message, name), Sent(reference=reference))

    def let_pass(self) -> None:
        self.store.look("update delivery_target set lease_expires_at = now(), retry_at = null")
        self.store.look("update delivery set send_deadline = now()")

    def silence(self) -> None:
        self.store.look("delete from procrastinate.procrastinate_jobs")

    def bells(self) -> list[str]:
        rows = self.store.look("select args from procrastinate.procrastinate_jobs where queue_name = 'deliveries'")
        return sorted(row["args"]["id"] for row in rows)

    def roots(self) -> list[tuple[str, str | None]]:
        return [(row["destination"], row["reference"]) for row in self.store.look("select * from thread_root")]


@pytest.fixture
async def threads(store: Store) -> Threads:
    made = Threads(store)
    await made.open("inv-1")
    return made


async def test_a_reply_waits_for_its_root_and_is_told_where_it_is(threads: Threads) -> None:
    threads.plan("received")
    assert await threads.claim(REPLY) is None
    await threads.sent(ROOT, "C1/1.1")
    reply = await threads.claim(REPLY)
    assert reply is not None
    assert (reply.thread, reply.guest) == (Thread(reference="C1/1.1", own=True), False)
    assert reply.address.thread == "C1/1.1"


async def test_a_root_that_is_there_rings_for_the_replies_that_waited(threads: Threads) -> None:
    threads.plan("received")
    threads.silence()
    await threads.sent(ROOT, "C1/1.1")
    assert threads.bells() == ["inv-1-slack#report"]


async def test_the_messages_of_a_thread_have_markers_of_their_own(threads: Threads) -> None:
    threads.plan("received")
    root = await threads.reserved(ROOT)
    await threads.deliveries.end(root, Sent(reference="C1/1.1"))
    reply = await threads.reserved(REPLY)
    assert (root.marker, reply.marker) == ("inv-1/r1#thread", "inv-1/r1#report")


async def test_a_rerun_is_a_guest_in_the_thread_that_is_there(threads: Threads) -> None:
    threads.plan("received")
    await threads.sent(ROOT, "C1/1.1")
    await threads.open("inv-2", parent="inv-1")
    threads.plan("received", "inv-2")
    for message in (ROOT, REPLY):
        claimed = await threads.claim(message, "inv-2")
        assert claimed is not None
        assert (claimed.thread, claimed.guest) == (Thread(reference="C1/1.1", own=False), True)
    assert threads.roots() == [("slack", "C1/1.1")]


async def test_a_thread_that_a_human_began_is_taken_as_it_is(threads: Threads) -> None:
    threads.store.look(
        "insert into thread_root (episode_id, destination, reference) values ('episode-1', 'slack', 'C9/9.9')"
    )
    threads.plan("received")
    claimed = await threads.claim(ROOT)
    assert claimed is not None
    assert claimed.guest
    with pytest.raises(FenceLost):
        await threads.deliveries.reserve(claimed, b"a second root", send_for=LEASE)


async def test_no_second_root_is_begun_while_the_first_may_have_arrived(threads: Threads) -> None:
    await threads.open("inv-2", parent="inv-1")
    threads.plan("received")
    threads.plan("received", "inv-2")
    first = await threads.reserved(ROOT)
    assert await threads.claim(ROOT, "inv-2") is None
    await threads.deliveries.end(first, Uncertain(reason="the answer was lost"))
    assert await threads.claim(ROOT, "inv-2") is None
    threads.let_pass()
    looking = await threads.claim(ROOT)
    assert looking is not None
    assert (looking.step, looking.thread) == ("find", None)
    await threads.deliveries.end(looking, Unknowable(reason="no read access"))
    assert await threads.claim(ROOT, "inv-2") is None
    assert await threads.claim(REPLY) is None


@pytest.mark.parametrize(
    "ending", [Postponed(reason="429", wait_ms=60_000), GivenUp(reason="no such channel"), Absent()]
)
async def test_who_surely_did_not_begin_the_thread_leaves_it_to_others(
    threads: Threads, ending: Postponed | GivenUp | Absent
) -> None:
    await threads.open("inv-2", parent="inv-1")
    threads.plan("received")
    threads.plan("received", "inv-2")
    await threads.deliveries.end(await threads.reserved(ROOT), ending)
    assert threads.roots() == []
    await threads.sent(ROOT, "C1/2.2", "inv-2")
    threads.let_pass()
    threads.plan("resolved")
    first = await threads.claim(ROOT)
    assert first is not None
    assert (first.thread, first.guest) == (Thread(reference="C1/2.2", own=False), True)


async def test_of_two_that_claimed_at_once_one_begins_the_thread(threads: Threads) -> None:
    await threads.open("inv-2", parent="inv-1")
    threads.plan("received")
    threads.plan("received", "inv-2")
    claims = [await threads.claim(ROOT), await threads.claim(ROOT, "inv-2")]
    assert all(claims)
    done = await asyncio.gather(
        *(threads.deliveries.reserve(one, b"root", send_for=LEASE) for one in claims if one is not None),
        return_exceptions=True,
    )
    assert [type(one) for one in done if one is not None] == [FenceLost]


async def test_an_edit_of_a_root_leaves_the_thread_as_it_is(threads: Threads) -> None:
    threads.plan("received")
    await threads.sent(ROOT, "C1/1.1")
    threads.plan("report")
    await threads.deliveries.end(await threads.reserved(ROOT), Postponed(reason="429", wait_ms=1))
    assert threads.roots() == [("slack", "C1/1.1")]
    threads.let_pass()
    await threads.sent(ROOT, "C1/1.1")
    assert threads.roots() == [("slack", "C1/1.1")]


async def test_destinations_have_threads_of_their_own(threads: Threads) -> None:
    await threads.open("inv-2", "chat#thread", "chat#report", parent="inv-1")
    threads.plan("received")
    threads.plan("received", "inv-2")
    await threads.sent(ROOT, "C1/1.1")
    assert await threads.claim("chat#report", "inv-2") is None
    await threads.sent("chat#thread", "X/1", "inv-2")
    assert sorted(threads.roots()) == [("chat", "X/1"), ("slack", "C1/1.1")]


async def test_a_whole_message_is_in_no_thread(threads: Threads) -> None:
    threads.store.add_target("inv-1", "folder")
    threads.plan("received")
    await threads.sent("folder", "inv-1/r1")
    assert threads.roots() == []
