"""Connections are bounded and fair, and only our errors come out."""

import asyncio

import psycopg
import pytest
from sqlalchemy import text

from inquest.errors import InvariantBroken, StoreUnavailable
from inquest.ports import Renewal
from inquest.store import database as module
from inquest.store.claims import renew_now
from inquest.store.database import Database
from tests.store.builders import Store, nudge, write


async def test_a_database_that_is_not_there_is_unavailable() -> None:
    nowhere = Database("postgresql://nobody@localhost:1/nothing")

    with pytest.raises(StoreUnavailable):
        await nowhere.rows("select 1", {})

    await nowhere.aclose()


async def test_a_connection_that_was_cut_is_unavailable_once(store: Store) -> None:
    fence = await store.started()
    store.look(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )

    with pytest.raises(StoreUnavailable):
        await store.journal.commit(write(fence, 2, nudge()))

    assert await store.journal.commit(write(fence, 2, nudge())) == 3


async def test_a_statement_that_waits_too_long_for_a_lock_is_unavailable(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fence = await store.started()
    monkeypatch.setattr(module, "OPTIONS", module.OPTIONS.replace("lock_timeout=10000", "lock_timeout=50"))
    impatient = Store(store.database.url, store.conninfo)

    with store.connection() as other, other.transaction():
        other.execute("select 1 from investigation for update")
        with pytest.raises(StoreUnavailable):
            await impatient.journal.commit(write(fence, 2, nudge()))

    await impatient.database.aclose()


@pytest.mark.parametrize("text_", ["a\x00b", "\ud800"])
async def test_text_that_postgres_cannot_hold_is_a_bug_of_ours_and_is_not_repeated(store: Store, text_: str) -> None:
    with pytest.raises(InvariantBroken, match="sanitiser") as error:
        await store.database.rows("select %(secret)s::text", {"secret": f"hunter2{text_}"})

    assert "hunter2" not in str(error.value)


async def test_what_the_database_refuses_repeats_no_value(store: Store) -> None:
    with pytest.raises(InvariantBroken, match="22P02") as error:
        await store.database.rows("select %(secret)s::int", {"secret": "hunter2"})

    assert "hunter2" not in str(error.value)


async def test_a_transaction_is_rolled_back_by_an_error(store: Store) -> None:
    async def half_done() -> None:
        async with store.database.transaction() as tx:
            await tx.execute(text("insert into halt (workspace) values ('acme')"))
            await tx.execute(text("select 1 / 0"))

    with pytest.raises(InvariantBroken):
        await half_done()
    async with store.database.transaction() as tx:
        await tx.execute(text("insert into halt (workspace) values ('rival')"))

    assert [row["workspace"] for row in store.look("select workspace from halt")] == ["rival"]


async def test_whoever_has_waited_longest_is_next(store: Store) -> None:
    single = Database(store.database.url, pool_size=1)
    order: list[int] = []

    async def one(number: int) -> None:
        for _ in range(5):
            await single.rows("select 1", {})
            order.append(number)

    await asyncio.gather(*(one(number) for number in range(8)))

    await single.aclose()
    assert order == list(range(8)) * 5


async def test_nobody_waits_for_ever_for_a_connection(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.05)
    single = Database(store.database.url, pool_size=1)

    async with single.transaction():
        with pytest.raises(StoreUnavailable, match="no connection"):
            await single.rows("select 1", {})

    assert await single.value("select 1", {}) == 1
    await single.aclose()


async def test_our_schema_is_on_every_connection(store: Store) -> None:
    assert await store.database.value("show search_path", {}) == "inquest,pg_temp"
    assert await store.database.value("show timezone", {}) == "UTC"


async def test_a_host_that_went_away_without_a_word_is_given_up_in_seconds(store: Store) -> None:
    async with store.database.transaction() as tx:
        driver = (await tx.get_raw_connection()).driver_connection
        assert isinstance(driver, psycopg.AsyncConnection)
        asked = driver.info.get_parameters()

    idle, interval, count = (int(asked[f"keepalives_{name}"]) for name in ("idle", "interval", "count"))
    assert int(asked["tcp_user_timeout"]) == module.DEAD_PEER_MS
    assert 1_000 * (idle + interval * count) == module.DEAD_PEER_MS


async def test_a_lease_is_renewed_over_a_plain_connection(store: Store) -> None:
    fence = await store.started()
    with psycopg.connect(store.conninfo, autocommit=True) as connection:
        before = (await store.investigations.get("inv-1")).lease_expires_at

        renewed = renew_now(connection, [fence])

        after = (await store.investigations.get("inv-1")).lease_expires_at
        assert renewed == {fence: Renewal.RENEWED}
        assert before is not None
        assert after is not None
        assert after > before
        connection.close()
        with pytest.raises(StoreUnavailable):
            renew_now(connection, [fence])


async def test_an_answer_that_never_comes_is_the_stores_absence_and_the_database_can_be_used_after_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWER_S", 0.05)
    with pytest.raises(StoreUnavailable, match="no answer"):
        await store.database.value("select pg_sleep(30)", {})
    monkeypatch.undo()
    assert await store.database.value("select 1", {}) == 1


async def test_a_transaction_that_is_not_answered_is_the_stores_absence_and_is_rolled_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def waits() -> None:
        async with store.database.transaction() as tx:
            await tx.execute(text("insert into halt (workspace) values ('acme')"))
            await tx.execute(text("select pg_sleep(30)"))

    monkeypatch.setattr(module, "ANSWER_S", 0.2)
    with pytest.raises(StoreUnavailable, match="no answer"):
        await waits()
    monkeypatch.undo()
    assert store.look("select workspace from halt") == []
