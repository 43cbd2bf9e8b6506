"""What only the database of an installation tells: looked at beside its running processes, never changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from inquest.bootstrap.home import DATABASE
from inquest.store import embedded
from inquest.store.database import Database
from tests.e2e.servers import Inquest


@dataclass(frozen=True)
class Store:
    """The database of an installation. What names no investigation is of one in which there is one at most."""

    database: Database

    async def investigation(self) -> Row[Any] | None:
        """Give its row, None while there is none."""
        return await self.database.row("select * from inquest.investigation", {})

    async def has_ended(self) -> bool:
        """Say whether it has come to its end, whatever that is."""
        row = await self.investigation()
        return row is not None and row.status in {"succeeded", "failed", "cancelled"}

    async def effects(self) -> dict[str, Row[Any]]:
        """Give every effect by its key."""
        return {row.key: row for row in await self.database.rows("select * from inquest.effect", {})}

    async def taken_over_at(self, generation: int) -> datetime | None:
        """Give when an owner of `generation` began, by the database's clock; None while none has."""
        row = await self.database.row(
            "select committed_at from inquest.event where kind = 'generation_advanced' and generation = %(generation)s",
            {"generation": generation},
        )
        return None if row is None else row.committed_at

    async def deliveries(self) -> Sequence[Row[Any]]:
        """Give what was to be delivered, in order."""
        return await self.database.rows("select * from inquest.delivery order by revision", {})

    async def told(self, investigation: str, message: str) -> Sequence[Row[Any]]:
        """Give the revisions of one message of an investigation, in order."""
        return await self.database.rows(
            "select d.* from inquest.delivery d join inquest.delivery_target t using (target_id)"
            " where t.investigation_id = %(investigation)s and t.destination = %(message)s order by d.revision",
            {"investigation": investigation, "message": message},
        )

    async def nothing_to_deliver(self) -> bool:
        """Say whether every delivery has come to its end."""
        return all(row.state not in {"planned", "reserved"} for row in await self.deliveries())

    async def now(self) -> datetime:
        """Give the time by the database's clock."""
        found: datetime = await self.database.value("select clock_timestamp()", {})
        return found

    async def accounting(self) -> Row[Any]:
        """Give the accounting equation of the workspace."""
        found = await self.database.row("select * from inquest.accounting('default')", {})
        assert found is not None
        return found


@asynccontextmanager
async def opened(inquest: Inquest) -> AsyncIterator[Store]:
    """Attach to the embedded database for the length of a `with`."""
    server = await asyncio.to_thread(embedded.start, inquest.home / "postgres")
    database = Database(server.sqlalchemy_url(DATABASE), pool_size=2)
    try:
        yield Store(database)
    finally:
        await database.aclose()
        await asyncio.to_thread(server.stop)
