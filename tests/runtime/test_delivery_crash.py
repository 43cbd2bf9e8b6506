"""Senders that are killed, at every point of a send, over real Postgres and fakes that keep what they were sent.

No fake ever shows two first messages, nor an older text over a newer one (C18 to C21).
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from multiprocessing.process import BaseProcess

import pytest

from tests.fakes import gitlab_notes, slack
from tests.fakes.faults import Fault
from tests.fakes.gitlab_notes import FakeGitlabNotes
from tests.fakes.loopback import loopback
from tests.fakes.slack import FakeSlack
from tests.postgres import NewDatabase
from tests.runtime import sender
from tests.runtime.sender import MESSAGES, Ways
from tests.runtime.toy import World
from tests.store.builders import Store, opening
from tests.waiting import until

pytestmark = pytest.mark.e2e
PATIENCE_S = 60.0
AMPLE_S = 60.0
"""For a send that the test lets be answered. On a busy machine an answer may take longer than the second that senders
have here; then it counts as lost, the message is looked up, and no answered first send is ever there to be killed."""
POINTS = ("claimed", "reserved", "asked", "stored", "answered", "ended")
"""`asked` and `stored` are at the vendor's side: it has the request, without or with the message, and never answers."""


class House:
    """One investigation with a Slack thread and a GitLab note, and the senders of a test."""

    def __init__(self, store: Store, world: World, at_slack: FakeSlack, notes: FakeGitlabNotes, ways: Ways) -> None:
        self.store = store
        self.world = world
        self.slack, self.notes = at_slack, notes
        self.ways = ways
        self.senders: list[BaseProcess] = []

    async def open(self, name: str = "inv-1", parent: str | None = None) -> None:
        await self.store.open(opening(name, parent_id=parent))
        for message in MESSAGES:
            self.store.add_target(name, message)

    def plan(self, kind: str, name: str = "inv-1") -> None:
        with self.store.connection() as connection:
            revision = f'[{{"kind": "{kind}", "note": ""}}]'
            connection.execute("select plan_deliveries(%s, %s::jsonb)", (name, revision))

    def sender(self, *, send_for_s: float | None = None) -> BaseProcess:
        ways = self.ways if send_for_s is None else replace(self.ways, send_for_s=send_for_s)
        self.senders.append(sender.start(ways))
        return self.senders[-1]

    async def settled(self) -> None:
        """Wait until nothing is on its way any more, nor to be sent once more."""

        def quiet() -> bool:
            self.store.look("update delivery_target set retry_at = null where retry_at is not null")
            open_rows = self.store.look("select 1 from delivery where state in ('planned', 'reserved')")
            again = self.store.look("select 1 from delivery_target where again_at is not null")
            return not open_rows and not again

        await until(quiet, patience_s=PATIENCE_S)

    async def killed_at(self, point: str, message: str) -> None:
        """Start a sender, and kill it where it is at `point` with `message`."""
        at_the_vendor = {"asked": Fault.HANG, "stored": Fault.STORE_THEN_HANG}.get(point)
        if at_the_vendor is None:
            await self.world.pause(f"{point}/{message}")
            process = self.sender(send_for_s=AMPLE_S)
            await until(lambda: self._reached(f"{point}/{message}"), patience_s=PATIENCE_S)
            await kill(process)
            await self.world.resume(f"{point}/{message}")
            self._deadline_passes()
            return
        asked = self._meet(message, at_the_vendor)
        process = self.sender()
        await until(asked, patience_s=PATIENCE_S)
        await kill(process)

    def _deadline_passes(self) -> None:
        """Let the time of a send be over whose sender is dead: nothing of it is on its way."""
        self.store.look("update delivery set send_deadline = clock_timestamp() where state = 'reserved'")
        self.store.look("update delivery_target set lease_expires_at = clock_timestamp() where owner_id is not null")

    def _meet(self, message: str, fault: Fault) -> Callable[[], bool]:
        """Let the next write of `message` meet `fault`; give what says that it has."""
        if message == "notes":
            fortune, keys = self.notes.fortune, ["POST", "PUT"]
        else:
            part = message.removeprefix("slack")
            fortune, keys = self.slack.fortune, [f"chat.postMessage{part}", f"chat.update{part}"]
        for key in keys:
            fortune.then(key, fault)
        return lambda: not all(fortune.queues[key] for key in keys)

    async def _reached(self, point: str) -> bool:
        return bool(await self.world.reached(point))

    def clear_faults(self) -> None:
        self.slack.fortune.queues.clear()
        self.notes.fortune.queues.clear()

    def check(self, *, revision: int, investigations: int = 1) -> None:
        """Check that each message is there once, was never older than before, and shows `revision`."""
        shown = [message for message in self.slack.messages if message.user == slack.BOT_USER]
        firsts = slack.first_messages(shown)
        assert sorted(firsts) == sorted(set(firsts)), firsts
        assert [one.thread_ts for one in shown].count(None) == 1, "one root"
        assert len(shown) == 1 + investigations
        notes = [note for note in self.notes.on() if note.author == gitlab_notes.BOT]
        assert len(notes) == investigations
        assert all(slack.is_never_older(message) for message in shown)
        assert all(gitlab_notes.is_never_older(note) for note in notes)
        last = [*(message.markers[-1] for message in shown), *(note.markers[-1] for note in notes)]
        assert [marker for marker in last if f"/r{revision}" not in marker] == []
        assert self.notes.executed == []

    async def end(self) -> None:
        for process in self.senders:
            await kill(process)
        await self.store.database.aclose()


async def kill(process: BaseProcess) -> None:
    process.kill()
    await asyncio.to_thread(process.join)


@pytest.fixture
async def house(database: NewDatabase) -> AsyncIterator[House]:
    made = database()
    store, world = Store(made.url, made.conninfo), World(made.conninfo)
    store.add_episode()
    await world.make()
    async with AsyncExitStack() as stack:
        fakes = FakeSlack(seconds_a_message=0.0), FakeGitlabNotes()
        at_slack, at_gitlab = [await stack.enter_async_context(loopback(fake)) for fake in fakes]
        made_house = House(store, world, *fakes, Ways(made.url, made.conninfo, at_slack.url, at_gitlab.url))
        await made_house.open()
        yield made_house
        await made_house.end()


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("point", POINTS)
async def test_a_first_send_that_is_killed_arrives_once(house: House, point: str, message: str) -> None:
    house.plan("report")
    await house.killed_at(point, message)
    house.clear_faults()
    house.plan("resolved")
    house.sender()
    await house.settled()
    house.check(revision=2)


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("point", POINTS[1:-1])
async def test_an_edit_that_is_killed_ends_with_the_newest_text(house: House, point: str, message: str) -> None:
    house.plan("report")
    first = house.sender()
    await house.settled()
    await kill(first)
    house.plan("members")
    await house.killed_at(point, message)
    house.clear_faults()
    house.plan("resolved")
    house.sender()
    await house.settled()
    house.check(revision=3)


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("point", ["finding", "found"])
async def test_a_look_that_is_killed_is_made_again(house: House, point: str, message: str) -> None:
    house.plan("report")
    await house.killed_at("stored", message)
    house.clear_faults()
    await house.killed_at(point, message)
    house.sender()
    await house.settled()
    house.check(revision=1)


async def test_a_rerun_speaks_in_the_same_thread_whoever_is_killed(house: House) -> None:
    house.plan("received")
    await house.open("inv-2", parent="inv-1")
    house.plan("received", "inv-2")
    await house.killed_at("stored", "slack#thread")
    house.clear_faults()
    second = house.sender()
    await house.settled()
    await kill(second)
    for name in ("inv-1", "inv-2"):
        house.plan("report", name)
    await house.killed_at("answered", "slack#report")
    house.sender()
    await house.settled()
    house.check(revision=2, investigations=2)


async def test_a_paused_sender_writes_nothing_after_another_took_over(house: House) -> None:
    house.plan("report")
    await house.world.pause("reserved/slack#thread")
    zombie = house.sender()
    await until(lambda: house._reached("reserved/slack#thread"), patience_s=PATIENCE_S)
    assert zombie.pid is not None
    os.kill(zombie.pid, signal.SIGSTOP)
    await house.world.resume("reserved/slack#thread")
    house.sender()
    await house.settled()
    os.kill(zombie.pid, signal.SIGCONT)
    house.plan("resolved")
    await house.settled()
    house.check(revision=2)


@pytest.mark.parametrize("seed", range(3))
async def test_senders_that_are_killed_at_any_moment_show_each_message_once_and_the_newest_text(
    house: House, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311  # a seed, so that a failure can be repeated
    faults = [None, *Fault]
    for number, kind in enumerate(("received", "progress", "report", "members", "resolved")):
        house.plan(kind)
        for method in ("chat.postMessage", "chat.update"):
            house.slack.fortune.then(method, *chance.choices(faults, k=2))
        for method in ("POST", "PUT"):
            house.notes.fortune.then(method, *chance.choices(faults, k=2))
        pair = [house.sender(), house.sender()]
        calls = len(house.slack.calls) + len(house.notes.calls)
        some = chance.randint(0, 4)
        await until(
            lambda calls=calls, some=some: len(house.slack.calls) + len(house.notes.calls) >= calls + some,  # type: ignore[misc]
            patience_s=PATIENCE_S,
        )
        for process in pair if number < 4 else pair[:1]:
            await kill(process)
    house.clear_faults()
    await house.settled()
    house.check(revision=5)
