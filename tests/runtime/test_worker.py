"""A worker on real Postgres, in this process: what it claims, in which order, and how it lets go."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from inquest.domain.investigation import Status
from inquest.errors import StoreUnavailable
from inquest.ports import Claimed, Write
from inquest.runtime.lease import LeaseGuard
from inquest.runtime.worker import Act, Worker
from inquest.store.journal import PostgresJournal
from inquest.store.lease import FREE_STALLS, ClaimLimits
from tests.postgres import NewDatabase
from tests.runtime.toy import ToyPipeline, World, make_worker
from tests.store.builders import Store, opening, run_started, succeeded
from tests.waiting import until

LEASE = timedelta(seconds=1)


class House:
    """A database with one episode, its world, and the workers of a test."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.world = World(store.conninfo)

    def toy(self, *, turns: int = 3) -> Act:
        return ToyPipeline(self.store.journal, self.world, turns=turns).run

    def worker(self, run: Act | None = None, **options: Any) -> Worker:  # noqa: ANN401  # those of make_worker
        return make_worker(self.store.database, run or self.toy(), self.world, lease=LEASE, **options)

    @asynccontextmanager
    async def working(self, *workers: Worker) -> AsyncIterator[Callable[[], Coroutine[Any, Any, None]]]:
        """Run the workers; gives what stops and drains them."""
        stop = asyncio.Event()
        tasks = [asyncio.create_task(worker.run(stop)) for worker in workers]

        async def drained() -> None:
            stop.set()
            await asyncio.gather(*tasks)

        try:
            yield drained
        finally:
            await drained()

    async def ended(self, *names: str) -> None:
        async def all_ended() -> bool:
            statuses = [await self.store.status(name) for name in names]
            return all(status in (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED) for status in statuses)

        await until(all_ended)

    def row(self, name: str = "inv-1") -> dict[str, Any]:
        (found,) = self.store.look("select * from investigation where investigation_id = %s", name)
        return found


@pytest.fixture
async def house(database: NewDatabase) -> AsyncIterator[House]:
    made = database()
    store = Store(made.url, made.conninfo)
    store.add_episode()
    house = House(store)
    await house.world.make()
    yield house
    await store.database.aclose()


async def open_with_target(house: House, name: str = "inv-1") -> None:
    await house.store.opened(name)
    house.store.add_target(name, "toy")


# ---- from bell to message


async def test_an_opened_investigation_runs_to_its_end_and_its_report_arrives(house: House) -> None:
    await open_with_target(house)
    async with house.working(house.worker()):
        await house.ended("inv-1")
        await until(house.world.messages)
    assert await house.world.calls() == [("inv-1", 1), ("inv-1", 2), ("inv-1", 3)]
    ((_, body),) = await house.world.messages()
    assert body == "inv-1 report r1"
    row = house.row()
    assert (row["status"], row["owner_id"], row["generation"], row["attempt"]) == ("succeeded", None, 1, 1)


async def test_two_workers_do_each_investigation_once(house: House) -> None:
    names = [f"inv-{n}" for n in range(12)]
    for name in names:
        await open_with_target(house, name)
    async with house.working(house.worker(house.toy(turns=2)), house.worker(house.toy(turns=2))):
        await house.ended(*names)
        await until(lambda: _all_sent(house, len(names)))
    calls = await house.world.calls()
    assert sorted(calls) == sorted((name, turn) for name in names for turn in (1, 2))
    assert len(await house.world.messages()) == len(names)


async def _all_sent(house: House, count: int) -> bool:
    return len(await house.world.messages()) == count


async def test_bells_that_are_doubled_change_nothing(house: House) -> None:
    await open_with_target(house)
    for _ in range(20):
        house.store.look("select ring('inv-1'), ring_target('inv-1-toy')")
    async with house.working(house.worker(), house.worker()):
        await house.ended("inv-1")
        await until(house.world.messages)
    assert await house.world.calls() == [("inv-1", 1), ("inv-1", 2), ("inv-1", 3)]
    assert len(await house.world.messages()) == 1


async def test_everything_finishes_although_the_queue_was_wiped(house: House) -> None:
    await open_with_target(house, "inv-1")
    await open_with_target(house, "inv-2")
    await house.world.pause("call/2")
    async with house.working(house.worker(concurrency=1)):
        await until(lambda: house.world.reached("call/2"))
        wipe = "truncate procrastinate.procrastinate_jobs, procrastinate.procrastinate_workers cascade"
        await asyncio.to_thread(house.store.look, wipe)
        house.store.look("update investigation set rung_at = null")
        await house.world.resume("call/2")
        await house.ended("inv-1", "inv-2")
        await until(lambda: _all_sent(house, 2))
    assert len(await house.world.calls()) == 6


async def test_a_bell_for_a_dead_owners_lease_is_not_lost_on_a_worker_that_began_just_now(house: House) -> None:
    await open_with_target(house)
    await house.store.claimed("died")
    # It had got somewhere, so that its death costs no wait; and the sweep rings no more, as for 5 s after a bell.
    house.store.look(
        "update investigation set claimed_version = -1, lease_expires_at = clock_timestamp(), "
        "rung_at = clock_timestamp() + interval '1 hour'"
    )
    async with house.working(house.worker()):
        await house.ended("inv-1")
    assert (house.row()["status"], house.row()["generation"]) == ("succeeded", 2)


async def test_who_died_without_a_step_is_rung_for_again_as_soon_as_its_wait_is_over(house: House) -> None:
    await open_with_target(house)
    await house.store.claimed("died")
    house.store.look("update investigation set lease_expires_at = clock_timestamp(), rung_at = clock_timestamp()")

    assert await house.store.claims.claim("next") is None

    row = house.row()
    assert (row["status"], row["rung_at"]) == ("queued", None)
    assert row["not_before"] is not None


# ---- order


class Recorder:
    """A pipeline that ends each investigation at once and remembers the order; the first waits for `go`."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.order: list[str] = []
        self.go = asyncio.Event()

    async def run(self, claimed: Claimed, _guard: LeaseGuard) -> None:
        self.order.append(claimed.fence.investigation_id)
        await self.go.wait()
        journal = PostgresJournal(self._house.store.database, claimed.identity.workspace_id)
        events = (run_started(claimed.identity), succeeded())
        await journal.commit(Write(fence=claimed.fence, expected_version=0, events=events))


async def test_no_workspaces_backlog_delays_another_and_the_most_severe_goes_first(house: House) -> None:
    house.store.add_episode("episode-2", workspace="other")
    other = Store(house.store.database.url, house.store.conninfo, workspace="other")
    for n in range(5):
        await house.store.open(opening(f"acme-{n}", severity_rank=2))
    await house.store.open(opening("acme-critical", severity_rank=4))
    await other.open(opening("other-1", episode_id="episode-2", severity_rank=1))
    recorder = Recorder(house)
    async with house.working(house.worker(recorder.run, concurrency=2)):
        await until(lambda: len(recorder.order) == 2)
        recorder.go.set()
        await until(lambda: len(recorder.order) == 7)
    assert recorder.order[:2] == ["acme-critical", "other-1"]
    assert recorder.order[2:] == [f"acme-{n}" for n in range(5)]
    await other.database.aclose()


async def test_no_more_of_a_workspace_run_than_it_has_room_for(house: House) -> None:
    for n in range(4):
        await house.store.open(opening(f"inv-{n}"))
    recorder = Recorder(house)
    limits = ClaimLimits(max_running=2)
    async with house.working(house.worker(recorder.run, limits=limits), house.worker(recorder.run, limits=limits)):
        await until(lambda: len(recorder.order) == 2)
        house.store.look("update investigation set rung_at = null")
        await until(lambda: not _todo(house))
        (row,) = house.store.look("select count(*) as running from investigation where status = 'running'")
        assert (row["running"], len(recorder.order)) == (2, 2)
        recorder.go.set()
        await house.ended(*(f"inv-{n}" for n in range(4)))


def _todo(house: House) -> list[dict[str, Any]]:
    return house.store.look(
        "select id from procrastinate.procrastinate_jobs where status = 'todo' and task_name = 'investigate'"
    )


# ---- errors


async def test_a_stage_error_is_charged_and_the_investigation_ends_failed_after_its_attempts(house: House) -> None:
    tried: list[int] = []

    async def run(claimed: Claimed, _guard: LeaseGuard) -> None:
        tried.append(claimed.fence.attempt)
        raise KeyError("a bug in a stage")

    await house.store.opened()
    async with house.working(house.worker(run, limits=ClaimLimits(max_attempts=2))):
        await house.ended("inv-1")
    assert tried == [1, 2]
    assert (house.row()["status"], house.row()["attempt"]) == ("failed", 3)


async def test_a_statement_that_is_never_answered_does_not_loop_for_ever(house: House) -> None:
    tried: list[int] = []

    async def run(claimed: Claimed, _guard: LeaseGuard) -> None:
        tried.append(claimed.fence.attempt)
        raise StoreUnavailable("the statement took too long")

    await house.store.opened()
    async with house.working(house.worker(run, limits=ClaimLimits(max_attempts=1))):

        async def failed() -> bool:
            house.store.look("update investigation set not_before = null, rung_at = null where status = 'queued'")
            return await house.store.status() is Status.FAILED

        await until(failed)
    assert tried == [1] * (FREE_STALLS + 1)


async def test_after_a_stage_error_the_work_goes_on_from_where_the_journal_stands(house: House) -> None:
    class Flaky(World):
        @override
        async def call(self, investigation_id: str, turn: int) -> None:
            if turn == 2 and (investigation_id, 2) not in await self.calls():
                await super().call(investigation_id, turn)
                raise KeyError("a bug in a stage")
            await super().call(investigation_id, turn)

    house.world = Flaky(house.store.conninfo)
    await house.store.opened()
    async with house.working(house.worker()):
        await house.ended("inv-1")
    assert await house.world.calls() == [("inv-1", 1), ("inv-1", 2), ("inv-1", 2), ("inv-1", 3)]
    assert (house.row()["status"], house.row()["attempt"]) == ("succeeded", 2)


async def test_letting_go_for_a_halt_costs_no_attempt(house: House) -> None:
    await house.store.opened()
    await house.world.pause("call/1")
    async with house.working(house.worker()):
        await until(lambda: house.world.reached("call/1"))
        await house.store.claims.halt()
        await house.world.resume("call/1")
        await until(lambda: house.row()["status"] == "queued")
        assert house.row()["generation"] == 1
        await house.store.claims.resume()
        await house.ended("inv-1")
    assert (house.row()["attempt"], house.row()["generation"]) == (1, 2)


# ---- losing the fence


async def test_a_write_from_no_owner_stops_the_running_work(house: House) -> None:
    stopped = asyncio.Event()

    async def run(_claimed: Claimed, _guard: LeaseGuard) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await house.store.opened()
    async with house.working(house.worker(run)):
        await until(lambda: house.row()["status"] == "running")
        with house.store.connection() as connection, connection.transaction():
            connection.execute("update investigation set status = 'cancelled', generation = generation + 1")
            connection.execute("select fence_moved('inv-1')")
        await asyncio.wait_for(stopped.wait(), 20)
    row = house.row()
    assert (row["status"], row["attempt"]) == ("cancelled", 1)


async def test_a_lost_fence_is_quiet_and_the_work_is_somebody_elses(house: House) -> None:
    await house.store.opened()
    await house.world.pause("commit/2")
    async with house.working(house.worker()):
        await until(lambda: house.world.reached("commit/2"))
        steal = "update investigation set owner_id = 'thief', generation = 9, lease_expires_at = now() + '1 hour'"
        await asyncio.to_thread(house.store.look, steal)
        await house.world.resume("commit/2")
        await asyncio.sleep(0)
        before = house.row()
    assert house.row() == before, "the loser neither fails nor releases it"
    assert (before["status"], before["owner_id"], before["attempt"]) == ("running", "thief", 1)


# ---- leaving


async def test_a_drain_cuts_what_outlasts_its_grace_and_costs_no_attempt(house: House) -> None:
    await house.store.opened()
    await house.world.pause("call/2")
    async with house.working(house.worker(grace_s=0.2)) as drained:
        await until(lambda: house.world.reached("call/2"))
        house.store.look("delete from procrastinate.procrastinate_jobs where status = 'todo'")
        await drained()
    row = house.row()
    assert (row["status"], row["owner_id"], row["attempt"], row["not_before"]) == ("queued", None, 1, None)
    (effect,) = house.store.look("select state, dispatches from effect where key = 'turn/2'")
    assert effect == {"state": "reserved", "dispatches": 0}
    bells = [job["args"] for job in house.store.look("select args from procrastinate.procrastinate_jobs")]
    assert {"id": "inv-1"} in bells
    await house.world.resume("call/2")
    async with house.working(house.worker()):
        await house.ended("inv-1")
    assert await house.world.calls() == [("inv-1", 1), ("inv-1", 2), ("inv-1", 3)]
    assert (house.row()["attempt"], house.row()["generation"]) == (1, 2)


async def test_a_drain_lets_a_running_call_end_and_commit_and_begins_no_other(house: House) -> None:
    await house.store.opened()
    await house.world.pause("commit/2")
    async with house.working(house.worker(grace_s=20.0)) as drained:
        await until(lambda: house.world.reached("commit/2"))
        draining = asyncio.create_task(drained())
        await asyncio.sleep(0)
        await house.world.resume("commit/2")
        await draining
    assert await house.world.calls() == [("inv-1", 1), ("inv-1", 2)]
    (effect,) = house.store.look("select state from effect where key = 'turn/2'")
    assert (effect["state"], house.row()["status"], house.row()["attempt"]) == ("committed", "queued", 1)


async def test_a_worker_that_drains_claims_nothing_more(house: House) -> None:
    await house.store.opened("inv-1")
    await house.world.pause("commit/1")
    worker = house.worker(concurrency=1)
    async with house.working(worker) as drained:
        await until(lambda: house.world.reached("commit/1"))
        waiting = asyncio.create_task(worker._on_investigation("inv-2"))  # as after a restart of the engine
        await house.store.opened("inv-2")
        draining = asyncio.create_task(drained())
        await asyncio.sleep(0)
        await house.world.resume("commit/1")
        await asyncio.gather(draining, waiting)
    assert (house.row("inv-1")["generation"], house.row("inv-2")["generation"]) == (1, 0)
