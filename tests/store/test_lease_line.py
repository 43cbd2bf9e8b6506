"""The lease thread's connection, on real Postgres."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from inquest.domain.fence import Fence
from inquest.errors import StoreUnavailable
from inquest.ports import Renewal
from inquest.runtime.lease import LeaseGuard, LeaseKeeper
from inquest.store.lease_line import PostgresLeaseLine, connect
from tests.store.builders import Store
from tests.waiting import until

LEASE = timedelta(seconds=6)


@pytest.fixture
def line(store: Store) -> Iterator[PostgresLeaseLine]:
    made = connect(store.database.url, LEASE)
    yield made
    made.close()


async def claimed(store: Store) -> Fence:
    await store.opened()
    return (await store.claimed()).fence


def left_s(store: Store) -> float:
    (row,) = store.look("select extract(epoch from lease_expires_at - now())::float8 as left from investigation")
    left: float = row["left"]
    return left


async def test_a_renewal_lengthens_an_expired_lease_that_nobody_took(store: Store, line: PostgresLeaseLine) -> None:
    fence = await claimed(store)
    await store.claims.expire("inv-1")
    assert line.renew([fence], timedelta(minutes=5)) == {fence: Renewal.RENEWED}
    assert left_s(store) > 60


async def test_a_renewal_under_an_old_fence_is_refused_and_changes_nothing(
    store: Store, line: PostgresLeaseLine
) -> None:
    await store.started()
    old = Fence(investigation_id="inv-1", owner_id="owner-1", generation=1, attempt=1)
    await store.taken_over("owner-2")
    before = store.look("select * from investigation")
    assert line.renew([old], timedelta(minutes=5)) == {old: Renewal.LOST}
    assert store.look("select * from investigation") == before


async def test_a_moved_fence_is_heard_also_when_it_was_said_during_a_renewal(
    store: Store, line: PostgresLeaseLine
) -> None:
    fence = await claimed(store)
    assert line.moved(0.0) == frozenset()
    store.look("select fence_moved('inv-1')")
    line.renew([fence], LEASE)
    assert line.moved(5.0) == {"inv-1"}


async def test_a_lost_connection_is_the_stores_absence(store: Store, line: PostgresLeaseLine) -> None:
    fence = await claimed(store)
    store.look("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen inquest_fence%%'")
    with pytest.raises(StoreUnavailable):
        line.renew([fence], LEASE)
    with pytest.raises(StoreUnavailable):
        line.moved(0.0)


async def test_a_row_that_somebody_holds_costs_no_other_its_renewal(store: Store, line: PostgresLeaseLine) -> None:
    fences = []
    for name in ("inv-1", "inv-2", "inv-3"):
        await store.opened(name)
        fences.append((await store.claimed()).fence)
    await store.claims.release(fences[2])
    with store.connection() as other, other.transaction():
        other.execute("select 1 from investigation where investigation_id = 'inv-1' for update")
        answers = line.renew(fences, timedelta(minutes=5))
    assert answers == dict(zip(fences, (Renewal.LOCKED, Renewal.RENEWED, Renewal.LOST), strict=True))
    assert line.renew(fences[:1], timedelta(minutes=5)) == {fences[0]: Renewal.RENEWED}


async def test_a_worker_that_holds_one_investigation_by_two_generations_keeps_the_newer_only(
    store: Store, line: PostgresLeaseLine
) -> None:
    await store.started()
    old = Fence(investigation_id="inv-1", owner_id="owner-1", generation=1, attempt=1)
    new = await store.taken_over("owner-1")
    assert line.renew([old, new], LEASE) == {old: Renewal.LOST, new: Renewal.RENEWED}


async def test_the_leases_of_a_worker_stay_alive_while_somebody_holds_the_row_of_one(store: Store) -> None:
    lease, guards = timedelta(seconds=1.5), []
    keeper = LeaseKeeper(lambda: connect(store.database.url, lease), lease, on_outage=lambda: None)
    thread = keeper.start()
    with ExitStack() as held:
        for name in ("inv-1", "inv-2", "inv-3"):
            await store.opened(name)
            guards.append(LeaseGuard(await store.claimed(lease=lease), asked_at=time.monotonic(), lease=lease))
            held.enter_context(keeper.holding(guards[-1], lambda: None))
        with store.connection() as other, other.transaction():
            other.execute("select 1 from investigation where investigation_id = 'inv-1' for update")
            await until(lambda: not guards[0].alive())
            assert [guard.alive() for guard in guards] == [False, True, True]
        await until(guards[0].alive)
        assert not any(guard.lost for guard in guards)
    keeper.stop()
    await thread


async def test_a_wait_that_another_thread_breaks_off_is_the_stores_absence(line: PostgresLeaseLine) -> None:
    waiting = asyncio.create_task(asyncio.to_thread(line.moved, 3_600.0))
    while not waiting.done():
        line.abort()
        await asyncio.sleep(0.01)
    with pytest.raises(StoreUnavailable):
        await waiting
    line.abort()


def test_a_database_that_is_not_there_is_the_stores_absence() -> None:
    with pytest.raises(StoreUnavailable):
        connect("postgresql:///nothing?host=/nowhere", LEASE)
