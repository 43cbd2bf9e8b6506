from collections.abc import AsyncIterator

import pytest

from tests.postgres import NewDatabase
from tests.runtime.houses import House, prepared


@pytest.fixture
async def house(database: NewDatabase) -> AsyncIterator[House]:
    """Give a database of the test's own with one opened investigation, and no worker yet."""
    made = database()
    async with prepared(made.url, made.conninfo) as house:
        await house.open()
        yield house
