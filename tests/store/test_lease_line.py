"""The lease thread's connection, on real Postgres."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from inquest.domain.fence import Fence
from inquest.errors import FenceLost, StoreUnavailable
from inquest.store.lease_line import PostgresLeaseLine, connect
from tests.store.builders import Store

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
    line.renew(fence, timedelta(minutes=5))
    assert left_s(store) > 60


async def test_a_renewal_under_an_old_fence_is_refused_and_changes_nothing(
    store: Store, line: PostgresLeaseLine
) -> None:
    await store.started()
    old = Fence(investigation_id="inv-1", owner_id="owner-1", generation=1, attempt=1)
    await store.taken_over("owner-2")
    before = store.look("select * from investigation")
    with pytest.raises(FenceLost):
        line.renew(old, timedelta(minutes=5))
    assert store.look("select * from investigation") == before


async def test_a_moved_fence_is_heard_also_when_it_was_said_during_a_renewal(
    store: Store, line: PostgresLeaseLine
) -> None:
    fence = await claimed(store)
    assert line.moved(0.0) == frozenset()
    store.look("select fence_moved('inv-1')")
    line.renew(fence, LEASE)
    assert line.moved(5.0) == {"inv-1"}


async def test_a_lost_connection_is_the_stores_absence(store: Store, line: PostgresLeaseLine) -> None:
    fence = await claimed(store)
    store.look("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen inquest_fence%%'")
    with pytest.raises(StoreUnavailable):
        line.renew(fence, LEASE)
    with pytest.raises(StoreUnavailable):
        line.moved(0.0)


async def test_a_renewal_does_not_wait_for_a_row_longer_than_half_a_lease(store: Store) -> None:
    fence = await claimed(store)
    impatient = connect(store.database.url, timedelta(seconds=1))
    with store.connection() as other, other.transaction():
        other.execute("select 1 from investigation for update")
        with pytest.raises(StoreUnavailable):
            impatient.renew(fence, LEASE)
    impatient.renew(fence, LEASE)
    impatient.close()


def test_a_database_that_is_not_there_is_the_stores_absence() -> None:
    with pytest.raises(StoreUnavailable):
        connect("postgresql:///nothing?host=/nowhere", LEASE)
