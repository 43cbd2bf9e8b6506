"""Commands that read the database: one event loop, one small pool, closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from inquest.bootstrap.home import open_home
from inquest.settings import Settings
from inquest.store.database import Database

T = TypeVar("T")


def with_database(settings: Settings, use: Callable[[Database], Awaitable[T]]) -> T:
    """Run `use` on the database of this installation, embedded or given, without changing its schema."""
    with open_home(settings, upgrade=False) as home:

        async def run() -> T:
            database = Database(home.url, pool_size=2)
            try:
                return await use(database)
            finally:
                await database.aclose()

        return asyncio.run(run())
