"""Workers in processes of their own: killed, paused, asked to leave, and left without a database."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from inquest.domain.event import TurnCommitted
from inquest.domain.investigation import Status
from inquest.store.embedded import EmbeddedPostgres, start
from inquest.store.migrate import upgrade
from tests.postgres import SETTINGS, NewDatabase
from tests.runtime.toy import World
from tests.store.builders import Store
from tests.waiting import until

pytestmark = pytest.mark.e2e
REPOSITORY = Path(__file__).parent.parent.parent
PATIENCE_S = 60.0


class House:
    """A database with one opened investigation and its target, and the worker processes of a test."""

    def __init__(self, url: str, conninfo: str) -> None:
        self.store = Store(url, conninfo)
        self.world = World(conninfo)
        self.processes: list[asyncio.subprocess.Process] = []

    async def open(self, name: str = "inv-1") -> None:
        await self.store.opened(name)
        self.store.add_target(name, "toy")

    async def worker(self, **changes: Any) -> asyncio.subprocess.Process:  # noqa: ANN401  # those of toy_worker
        options = {
            "url": self.store.database.url, "conninfo": self.store.conninfo, "lease_s": 1.0, "turns": 3,
            "grace_s": 5.0, "send_for_s": 1.0, "concurrency": 2,
        }  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runtime.toy_worker", json.dumps({**options, **changes}), cwd=REPOSITORY
        )
        self.processes.append(process)
        return process

    async def reached(self, point: str, *, times: int = 1) -> None:
        async def seen() -> bool:
            return len(await self.world.reached(point)) >= times

        await until(seen, patience_s=PATIENCE_S)

    async def ended(self, name: str = "inv-1") -> None:
        async def succeeded() -> bool:
            return await self.store.status(name) is Status.SUCCEEDED

        await until(succeeded, patience_s=PATIENCE_S)

    async def sent(self, count: int = 1) -> None:
        def all_sent() -> bool:
            states = self.store.look("select state from delivery where state <> 'superseded'")
            return len(states) == count and all(row["state"] == "sent" for row in states)

        await until(all_sent, patience_s=PATIENCE_S)

    def row(self, name: str = "inv-1") -> dict[str, Any]:
        (found,) = self.store.look("select * from investigation where investigation_id = %s", name)
        return found

    async def turns(self, name: str = "inv-1") -> list[int]:
        events = (await self.store.journal.load(name)).events
        return [event.body.turn for event in events if isinstance(event.body, TurnCommitted)]

    async def end(self) -> None:
        for process in self.processes:
            if process.returncode is None:
                process.kill()
            await process.wait()
        await self.store.database.aclose()


async def kill(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()


@asynccontextmanager
async def prepared(url: str, conninfo: str) -> AsyncIterator[House]:
    house = House(url, conninfo)
    house.store.add_episode()
    await house.world.make()
    try:
        yield house
    finally:
        await house.end()


@pytest.fixture
async def house(database: NewDatabase) -> AsyncIterator[House]:
    made = database()
    async with prepared(made.url, made.conninfo) as house:
        await house.open()
        yield house


# ---- kill -9


@pytest.mark.parametrize(("point", "repeated"), [("call/2", []), ("commit/2", [("inv-1", 2)])])
async def test_what_a_killed_worker_held_is_taken_over_and_nothing_recorded_is_done_again(
    house: House, point: str, repeated: list[tuple[str, int]]
) -> None:
    await house.world.pause(point)
    first = await house.worker()
    await house.reached(point)
    second = await house.worker()
    await kill(first)
    await house.reached(point, times=2)
    await house.world.resume(point)
    await house.ended()
    await house.sent()
    assert sorted(await house.world.calls()) == sorted([("inv-1", 1), ("inv-1", 2), ("inv-1", 3), *repeated])
    assert (await house.turns(), house.row()["generation"]) == ([1, 2, 3], 2)
    assert house.row()["attempt"] == 1, "it had got somewhere"
    assert len(await house.world.messages()) == 1
    assert second.returncode is None


async def test_a_worker_that_dies_before_anything_is_recorded_costs_an_attempt(house: House) -> None:
    await house.world.pause("begin")
    first = await house.worker()
    await house.reached("begin")
    await kill(first)
    await house.world.resume("begin")
    await house.worker()
    await house.ended()
    assert house.row()["attempt"] == 2


# ---- SIGTERM


async def test_a_worker_that_is_asked_to_leave_hands_over_at_once_and_exits_with_zero(house: House) -> None:
    await house.world.pause("call/2")
    first = await house.worker(grace_s=0.2, lease_s=60.0)
    await house.reached("call/2")
    second = await house.worker(lease_s=60.0)
    first.terminate()
    assert await asyncio.wait_for(first.wait(), PATIENCE_S) == 0
    await house.reached("call/2", times=2)  # with a lease of a minute: it was handed over, not found
    await house.world.resume("call/2")
    await house.ended()
    assert await house.world.calls() == [("inv-1", 1), ("inv-1", 2), ("inv-1", 3)]
    assert (house.row()["attempt"], house.row()["generation"]) == (1, 2)
    assert second.returncode is None


# ---- SIGSTOP


async def test_a_zombie_commits_nothing_and_works_on_afterwards(house: House) -> None:
    await house.world.pause("commit/2")
    zombie = await house.worker()
    await house.reached("commit/2")
    zombie.send_signal(signal.SIGSTOP)
    second = await house.worker()
    await house.reached("commit/2", times=2)
    await house.world.resume("commit/2")
    await house.ended()
    before = house.row(), (await house.store.journal.load("inv-1")).events
    await kill(second)
    zombie.send_signal(signal.SIGCONT)
    await house.open("inv-2")
    await house.ended("inv-2")
    assert (house.row(), (await house.store.journal.load("inv-1")).events) == before
    assert await house.turns() == [1, 2, 3]
    assert zombie.returncode is None


# ---- a restart of Postgres


@asynccontextmanager
async def own_server() -> AsyncIterator[tuple[Path, EmbeddedPostgres]]:
    """Give a server that the test may stop and freeze, and the folder that it is started from."""
    base = Path(tempfile.mkdtemp(prefix="inquest-restarting-postgres-"))
    server = await asyncio.to_thread(start, base, settings=SETTINGS)
    await asyncio.to_thread(upgrade, server.sqlalchemy_url("postgres"))
    try:
        yield base, server
    finally:
        await asyncio.to_thread(start(base, settings=SETTINGS).stop)
        shutil.rmtree(base)


async def test_a_worker_lives_on_when_postgres_restarts_under_it() -> None:
    async with (
        own_server() as (base, server),
        prepared(server.sqlalchemy_url("postgres"), server.conninfo) as house,
    ):
        await house.open("inv-1")
        await house.world.pause("commit/2")
        worker = await house.worker(lease_s=3.0)
        await house.reached("commit/2")
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(start, base, settings=SETTINGS)
        await house.store.database.aclose()  # its connections are those of the old server
        await house.world.resume("commit/2")
        await house.ended("inv-1")
        await house.open("inv-2")
        await house.ended("inv-2")
        await house.sent(2)
        assert (house.row("inv-1")["attempt"], house.row("inv-2")["attempt"]) == (1, 1)
        assert len(await house.world.messages()) == 2
        assert worker.returncode is None


def processes_of(base: Path) -> list[int]:
    """List the server's processes: its postmaster and what that started."""
    (pid_file,) = base.rglob("postmaster.pid")
    postmaster = int(pid_file.read_text().split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [postmaster, *map(int, children)]


async def test_a_worker_that_is_asked_to_leave_while_the_database_is_gone_leaves() -> None:
    async with (
        own_server() as (_, server),
        prepared(server.sqlalchemy_url("postgres"), server.conninfo) as house,
    ):
        await house.open("inv-1")
        await house.world.pause("commit/2")
        worker = await house.worker(grace_s=0.5)
        await house.reached("commit/2")
        await asyncio.to_thread(server.stop)
        worker.terminate()
        assert await asyncio.wait_for(worker.wait(), PATIENCE_S) == 0


async def test_a_worker_that_is_asked_to_leave_while_the_database_hangs_leaves() -> None:
    """Its processes are stopped, and its host acknowledges what is sent: as when a disk does not answer."""
    async with (
        own_server() as (base, server),
        prepared(server.sqlalchemy_url("postgres"), server.conninfo) as house,
    ):
        await house.open("inv-1")
        await house.world.pause("call/2")
        worker = await house.worker(grace_s=0.5)
        await house.reached("call/2")
        frozen = processes_of(base)
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            worker.terminate()
            assert await asyncio.wait_for(worker.wait(), PATIENCE_S) == 0
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)


# ---- deliveries


@pytest.mark.parametrize("point", ["before_send", "after_send"])
async def test_a_first_send_whose_sender_was_killed_arrives_exactly_once(house: House, point: str) -> None:
    await house.world.pause(point)
    first = await house.worker()
    await house.reached(point)
    await kill(first)
    await house.world.resume(point)
    await house.worker()
    await house.sent()
    assert [body for _, body in await house.world.messages()] == ["inv-1 report r1"]


async def test_a_look_up_that_was_killed_is_made_again(house: House) -> None:
    for point in ("after_send", "find"):
        await house.world.pause(point)
    first = await house.worker()
    await house.reached("after_send")
    await kill(first)
    second = await house.worker()
    await house.reached("find")
    await kill(second)
    for point in ("after_send", "find"):
        await house.world.resume(point)
    await house.worker()
    await house.sent()
    assert len(await house.world.messages()) == 1


async def test_an_edit_whose_sender_was_killed_is_repeated(house: House) -> None:
    await house.worker()
    await house.sent()
    await house.world.pause("after_send")
    house.store.look("""select plan_deliveries('inv-1', '[{"kind": "resolved", "note": ""}]')""")
    await house.reached("after_send")
    await kill(house.processes[0])
    await house.world.resume("after_send")
    await house.worker()
    await house.sent(2)
    ((_, body),) = await house.world.messages()
    assert body == "inv-1 resolved r2"
    (target,) = house.store.look("select again_at > now() as again from delivery_target")
    assert target["again"]


async def test_a_paused_sender_sends_nothing_after_another_took_over(house: House) -> None:
    await house.world.pause("before_send")
    zombie = await house.worker()
    await house.reached("before_send")
    zombie.send_signal(signal.SIGSTOP)
    await house.world.resume("before_send")
    second = await house.worker()
    await house.sent()
    await kill(second)
    os.kill(zombie.pid, signal.SIGCONT)
    await house.open("inv-2")
    await house.ended("inv-2")
    await house.sent(2)
    assert sorted(body for _, body in await house.world.messages()) == ["inv-1 report r1", "inv-2 report r1"]
