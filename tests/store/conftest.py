from collections.abc import AsyncIterator

import pytest

from inquest.store.database import POOL_SIZE
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
async def door(database: NewDatabase, request: pytest.FixtureRequest) -> AsyncIterator[Door]:
    """Give the intake's store on an empty database; an indirect parameter is the size of its pool."""
    made = database()
    door = Door(made.url, made.conninfo, pool_size=getattr(request, "param", None) or POOL_SIZE)
    yield door
    await door.aclose()
