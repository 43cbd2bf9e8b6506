from collections.abc import AsyncIterator

import pytest

from tests.postgres import NewDatabase
from tests.store.door import Door


@pytest.fixture
async def door(database: NewDatabase) -> AsyncIterator[Door]:
    """Give an empty database with the intake's store in front of it."""
    made = database()
    door = Door(made.url, made.conninfo)
    yield door
    await door.aclose()
