"""The engine behind its port, on real Postgres."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from procrastinate.exceptions import ConnectorException
from psycopg_pool import AsyncConnectionPool
from psycopg_pool.pool_async import AddConnection, ShrinkPool

from inquest.store import queue as module
from inquest.store.database import KEEPALIVES
from inquest.store.queue import ListeningConnector, PersistentPool, ProcrastinateEngine
from tests.store.builders import Store
from tests.waiting import until


class Rings:
    """What an engine called for; each call waits while `held` is clear."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.ended: list[str] = []
        self.held = asyncio.Event()
        self.held.set()

    async def on_ring(self, ring_id: str) -> None:
        self.heard.append(ring_id)
        await self.held.wait()
        self.ended.append(ring_id)


async def _nothing() -> None:
    return None


def engine(store: Store, *, upkeep: Callable[[], Awaitable[object]] = _nothing) -> ProcrastinateEngine:
    return ProcrastinateEngine(store.database.url, upkeep=upkeep)


@asynccontextmanager
async def serving(store: Store, rings: Rings, *, slots: int = 4) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(engine(store).serve("investigations", rings.on_ring, slots=slots))
    try:
        await until(lambda: listeners(store))
        yield task
    finally:
        rings.held.set()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def listeners(store: Store) -> list[int]:
    rows = store.look(
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        " and query ilike 'listen %%investigations%%'"
    )
    return [row["pid"] for row in rows]


def jobs(store: Store) -> int:
    (row,) = store.look(
        "select count(*) as n from procrastinate.procrastinate_jobs where queue_name = 'investigations'"
    )
    count: int = row["n"]
    return count


RING = "select inquest.ring(%(id)s)"


async def wake(store: Store, *ids: str) -> None:
    async with store.database.transaction() as tx:
        for ring_id in ids:
            await tx.exec_driver_sql(RING, {"id": ring_id})


async def test_a_committed_ring_is_heard_with_its_id_and_leaves_no_row(store: Store) -> None:
    rings = Rings()
    async with serving(store, rings):
        await wake(store, "inv-1")
        await until(lambda: rings.ended == ["inv-1"] and jobs(store) == 0)


async def test_a_ring_that_is_rolled_back_is_never_heard(store: Store) -> None:
    async def wake_and_fail() -> None:
        async with store.database.transaction() as tx:
            await tx.exec_driver_sql(RING, {"id": "inv-1"})
            raise RuntimeError("rolled back")

    with pytest.raises(RuntimeError, match="rolled back"):
        await wake_and_fail()
    assert jobs(store) == 0


async def test_a_job_carries_one_id_and_no_lock(store: Store) -> None:
    await wake(store, "inv-1")
    (job,) = store.look("select * from procrastinate.procrastinate_jobs")
    assert (job["queue_name"], job["task_name"], job["args"]) == ("investigations", "investigate", {"id": "inv-1"})
    assert (job["lock"], job["queueing_lock"]) == (None, None)


async def test_no_more_rings_are_taken_than_there_are_slots(store: Store) -> None:
    rings = Rings()
    rings.held.clear()
    await wake(store, "inv-1", "inv-2", "inv-3")
    async with serving(store, rings, slots=2):
        await until(lambda: len(rings.heard) == 2)
        (todo,) = store.look(
            "select args from procrastinate.procrastinate_jobs where status = 'todo' and task_name = 'investigate'"
        )
        assert todo["args"] == {"id": "inv-3"}
        rings.held.set()
        await until(lambda: len(rings.ended) == 3)


async def test_a_call_that_raises_is_rung_for_no_more_and_the_next_one_is_heard(store: Store) -> None:
    heard: list[str] = []

    async def on_ring(ring_id: str) -> None:
        heard.append(ring_id)
        if ring_id == "bad":
            raise ValueError(ring_id)

    rings = Rings()
    rings.on_ring = on_ring  # type: ignore[method-assign]
    async with serving(store, rings):
        await wake(store, "bad", "good")
        await until(lambda: set(heard) == {"bad", "good"} and jobs(store) == 0)
    assert sorted(heard) == ["bad", "good"]


async def test_cancelled_it_takes_no_more_rings_and_cuts_the_calls_that_run_on(store: Store) -> None:
    rings = Rings()
    rings.held.clear()
    async with serving(store, rings) as task:
        await wake(store, "inv-1")
        await until(lambda: rings.heard)
        task.cancel()
        await until(lambda: not listeners(store))
        await wake(store, "inv-2")
        await asyncio.wait({task})
    assert (rings.heard, rings.ended, task.cancelled()) == (["inv-1"], [], True)
    (left,) = store.look("select args, status from procrastinate.procrastinate_jobs where task_name = 'investigate'")
    assert left == {"args": {"id": "inv-2"}, "status": "todo"}


async def test_its_listener_survives_the_loss_of_its_connection(store: Store) -> None:
    rings = Rings()
    async with serving(store, rings) as task:
        (lost,) = listeners(store)
        store.look("select pg_terminate_backend(%s)", lost)
        await until(lambda: set(listeners(store)) - {lost})
        await wake(store, "inv-1")
        await until(lambda: rings.ended == ["inv-1"])
        assert not task.done()


async def test_its_pool_tries_to_connect_every_second_however_long_the_database_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delays: list[float] = []

    async def schedule(_pool: object, _task: object, delay: float) -> None:
        delays.append(delay)

    monkeypatch.setattr(AsyncConnectionPool, "schedule_task", schedule)
    pool = PersistentPool("host=/nowhere", open=False)
    await pool.schedule_task(AddConnection(pool), 16.0)
    await pool.schedule_task(ShrinkPool(pool), 600.0)
    assert delays == [1.0, 600.0]


async def test_queue_tables_that_are_wiped_end_it_so_that_it_is_served_again(store: Store) -> None:
    task = asyncio.create_task(engine(store).serve("investigations", Rings().on_ring, slots=4))
    await until(lambda: listeners(store))
    wipe = "truncate procrastinate.procrastinate_jobs, procrastinate.procrastinate_workers cascade"
    await asyncio.to_thread(store.look, wipe)  # it waits for locks that this event loop may hold
    await wake(store, "inv-1")
    await until(task.done)
    assert isinstance(task.exception(), ConnectorException)


async def test_the_periodic_task_keeps_house(store: Store) -> None:
    kept = asyncio.Event()

    async def upkeep() -> None:
        kept.set()

    made = engine(store, upkeep=upkeep)
    task = asyncio.create_task(made.serve("deliveries", Rings().on_ring, slots=2))
    async with asyncio.timeout(20):
        await kept.wait()  # the occurrence of the minute that has begun is deferred at the start
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_the_engine_gives_up_a_host_that_went_away_as_soon_as_the_store_does(store: Store) -> None:
    app = engine(store)._app("investigations", Rings().on_ring)

    async with app.open_async():
        connector = app.connector
        assert isinstance(connector, ListeningConnector)
        async with connector.pool.connection() as connection:
            asked = connection.info.get_parameters()

    assert {name: int(asked[name]) for name in KEEPALIVES} == KEEPALIVES


async def test_a_statement_of_the_engine_that_is_not_answered_breaks_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = engine(store)._app("investigations", Rings().on_ring)
    async with app.open_async():
        connector = app.connector
        monkeypatch.setattr(module, "ANSWER_TIMEOUT_S", 0.2)
        for ask in (
            connector.execute_query_async, connector.execute_query_one_async, connector.execute_query_all_async
        ):  # fmt: skip
            with pytest.raises(ConnectorException):
                await ask("select pg_sleep(30)")
        monkeypatch.undo()
        assert await connector.execute_query_one_async("select 1 as one") == {"one": 1}
