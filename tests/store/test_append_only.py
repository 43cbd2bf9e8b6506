"""Nobody changes a journal; only retention deletes one, whole and under its tombstone (checklist 42)."""

from typing import LiteralString

import psycopg
import pytest

from tests.store.builders import Store, nudge, write


@pytest.mark.parametrize(
    "change",
    [
        "update event set body = ''",
        "update event set attempt = 2 where false",
        "delete from event",
        "delete from event where false",
        "truncate event",
        "truncate investigation cascade",
    ],
)
async def test_no_statement_changes_or_removes_an_event(store: Store, change: LiteralString) -> None:
    fence = await store.started()
    before = await store.journal.load("inv-1")

    with pytest.raises(psycopg.Error, match="append-only") as error:
        store.look(change)

    assert error.value.sqlstate == "IQI01"
    assert await store.journal.load("inv-1") == before
    assert await store.journal.commit(write(fence, 2, nudge())) == 3


def as_retention(store: Store, *statements: LiteralString) -> None:
    with store.connection() as connection, connection.transaction():
        connection.execute("set local role inquest_retention")
        for statement in statements:
            connection.execute(statement)


async def test_retention_deletes_nothing_without_a_tombstone(store: Store) -> None:
    await store.started()

    with pytest.raises(psycopg.Error, match="under a tombstone"):
        as_retention(store, "delete from event")


async def test_retention_deletes_no_part_of_a_journal(store: Store) -> None:
    await store.started()
    store.look("update investigation set status = 'deleting'")

    with pytest.raises(psycopg.Error, match="deleted together"):
        as_retention(store, "delete from event where seq = 2")


async def test_retention_deletes_a_whole_journal_under_its_tombstone(store: Store) -> None:
    await store.started()
    store.look("update investigation set status = 'deleting'")

    as_retention(store, "delete from event where investigation_id = 'inv-1'")

    assert store.look("select * from event") == []
    assert [row["status"] for row in store.look("select status from investigation")] == ["deleting"]


@pytest.mark.parametrize(
    "change", ["update event set attempt = 2", "truncate event", "update investigation set version = 0"]
)
async def test_retention_only_deletes(store: Store, change: LiteralString) -> None:
    await store.started()
    store.look("update investigation set status = 'deleting'")

    with pytest.raises(psycopg.Error):
        as_retention(store, change)
