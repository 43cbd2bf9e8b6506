from collections.abc import AsyncIterator

import pytest

from tests.postgres import NewDatabase
from tests.store.builders import Either, InMemory, Store
from tests.store.door import Door


@pytest.fixture
async def store(database: NewDatabase) -> AsyncIterator[Store]:
    """Give the Postgres store of one workspace with one episode."""
    made = database()
    store = Store(made.url, made.conninfo)
    store.add_episode()
    yield store
    await store.database.aclose()


@pytest.fixture(params=["memory", "postgres"])
async def either(request: pytest.FixtureRequest) -> AsyncIterator[Either]:
    """Give the store in each of its forms: a contract test holds for both."""
    if request.param == "memory":
        yield InMemory()
        return
    new_database: NewDatabase = request.getfixturevalue("database")
    made = new_database()
    store = Store(made.url, made.conninfo)
    store.add_episode()
    yield store
    await store.database.aclose()


@pytest.fixture
async def door(database: NewDatabase) -> AsyncIterator[Door]:
    """Give the intake's store on an empty database."""
    made = database()
    door = Door(made.url, made.conninfo)
    yield door
    await door.aclose()
