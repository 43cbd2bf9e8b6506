"""The loop on the real store: killed around its writes, it comes to what the in-memory journal comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from inquest.domain.budget import Spend
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.fence import Fence
from inquest.domain.projection import Projection
from inquest.ports import Chronicle, Claimed, ReserveAnswer, Write
from inquest.store.lease import Opening
from tests.loop_deaths import SCRIPT, bought_too_often, new_host, run_and_die, whole_run
from tests.loop_host import INVESTIGATION, Host
from tests.postgres import NewDatabase
from tests.store.builders import Store


class OnPostgres:
    """What the host asks of a store, answered by Postgres."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def open(self, opening: Opening) -> None:
        await self._store.open(opening)

    async def claim(self, owner_id: str) -> Claimed | None:
        await self._store.claims.expire(INVESTIGATION)
        claimed = await self._store.claims.claim(owner_id)
        if claimed is None:  # it got nowhere, and waits
            await self._store.come_due(INVESTIGATION)
            claimed = await self._store.claims.claim(owner_id)
        return claimed

    async def load(self, investigation_id: str) -> Chronicle:
        return await self._store.journal.load(investigation_id)

    async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        return await self._store.journal.content(digests)

    async def commit(self, write: Write) -> int:
        return await self._store.journal.commit(write)

    async def reserve(self, fence: Fence, expected_version: int, reservation: Reservation) -> ReserveAnswer:
        return await self._store.journal.reserve(fence, expected_version, reservation)

    async def receive(self, fence: Fence, receipt: Receipt, contents: Mapping[str, bytes]) -> None:
        await self._store.journal.receive(fence, receipt, contents)


def comparable(projected: Projection) -> Projection:
    """Leave out what differs between any two runs: the spend, and the deadline of the plan."""
    assert projected.plan is not None
    budget = projected.plan.budget.but(deadline_at=datetime(2026, 3, 1, tzinfo=UTC))
    return projected.but(spend=Spend(), plan=projected.plan.but(budget=budget))


async def on_postgres(database: NewDatabase) -> tuple[Host, Store]:
    made = database()
    store = Store(made.url, made.conninfo, "main")
    store.add_episode("ep-1", "main")
    return new_host(store=OnPostgres(store), begins=datetime.now(UTC) + timedelta(minutes=1)), store


@pytest.mark.parametrize(
    ("dies_at", "before"), [(None, False), (2, True), (6, False), (11, True), (17, False), (26, True)]
)
async def test_on_postgres_it_comes_to_the_same_end_as_in_memory(
    database: NewDatabase, dies_at: int | None, *, before: bool
) -> None:
    gathered, projected, _ = await whole_run()
    host, store = await on_postgres(database)
    if dies_at is not None:
        assert await run_and_die(host, dies_at, before=before) is not None

    again = await host.gather(SCRIPT, None if dies_at is None else await host.claim())

    assert again == gathered
    assert comparable(await host.projected()) == comparable(projected)
    assert await bought_too_often(host) == []
    await store.database.aclose()
