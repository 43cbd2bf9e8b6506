"""Commands that read the database: one event loop, one small pool, closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from inquest.bootstrap.home import open_database
from inquest.bootstrap.observing import configure_telemetry
from inquest.settings import Settings
from inquest.store.database import Database

T = TypeVar("T")


def with_database(settings: Settings, use: Callable[[Database], Awaitable[T]]) -> T:
    """Run `use` on the database of this installation, embedded or given, without changing a given one's schema."""
    configure_telemetry(quiet(settings))
    with open_database(settings) as url:

        async def run() -> T:
            database = Database(url, pool_size=2)
            try:
                return await use(database)
            finally:
                await database.aclose()

        return asyncio.run(run())


def quiet(settings: Settings) -> Settings:
    """Give settings whose logs say errors only, in words: for a command that a human runs, unless it asks for more."""
    wanted = {"log_level": "error", "log_format": "console"}
    return settings.model_copy(
        update={name: value for name, value in wanted.items() if name not in settings.model_fields_set}
    )
