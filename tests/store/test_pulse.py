"""A database that falls silent is told from one that works for long."""

from __future__ import annotations

import pytest

from inquest.errors import StoreUnavailable
from inquest.store.database import Database
from tests.fakes.wire import wire_to
from tests.store.builders import Store


async def test_a_database_that_answers_answers_though_every_connection_of_the_pool_is_at_work(store: Store) -> None:
    single = Database(store.database.url, pool_size=1)
    async with single.transaction():
        await single.answers()
        await single.answers()
    await single.aclose()


async def test_one_that_falls_silent_is_told_and_answers_again_after_it(store: Store) -> None:
    async with wire_to(store.conninfo) as (wire, url):
        database = Database(url)
        await database.answers()

        wire.fall_silent()
        for _ in range(2):  # over the connection that stands, and over a new one
            with pytest.raises(StoreUnavailable):
                await database.answers()
        wire.speak()

        await database.answers()
        await database.aclose()
        await database.answers()
        await database.aclose()


async def test_a_connection_that_was_lost_without_a_word_is_replaced(store: Store) -> None:
    async with wire_to(store.conninfo) as (wire, url):
        database = Database(url)
        await database.answers()

        wire.lose()
        with pytest.raises(StoreUnavailable):
            await database.answers()

        await database.answers()
        assert wire.taken == 2
        await database.aclose()


async def test_one_that_is_not_there_is_told_at_once() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(StoreUnavailable):
        await database.answers()
    await database.aclose()
