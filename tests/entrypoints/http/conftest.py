from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.entrypoints.http.service import Service, one_workspace, serving
from tests.postgres import NewDatabase
from tests.store.door import Door


@pytest.fixture
async def rows(database: NewDatabase) -> AsyncIterator[Door]:
    """Give an empty database with the intake's store in front of it."""
    made = database()
    door = Door(made.url, made.conninfo)
    yield door
    await door.aclose()


@pytest.fixture
async def service(rows: Door, tmp_path: Path) -> AsyncIterator[Service]:
    """Give the whole application over that database, with one workspace and an operator's token."""
    async with serving(rows.database, one_workspace(tmp_path)) as running:
        yield running
