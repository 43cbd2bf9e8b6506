"""Workers in processes of their own: killed, asked to leave, and left without a database."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from inquest.store.embedded import EmbeddedPostgres, start
from inquest.store.migrate import upgrade
from tests.freezing import processes_of, send_each
from tests.postgres import SETTINGS
from tests.runtime.houses import PATIENCE_S, House, kill, prepared

pytestmark = pytest.mark.e2e


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
        send_each(frozen, signal.SIGSTOP)
        try:
            worker.terminate()
            assert await asyncio.wait_for(worker.wait(), PATIENCE_S) == 0
        finally:
            send_each(frozen, signal.SIGCONT)


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
