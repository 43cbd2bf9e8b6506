"""The same run over Postgres: killed around its writes, it comes to what it comes to in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from inquest.errors import FenceLost, IdentityMismatch, PlanMismatch
from tests.library.library_runs import IDENTITY, NOBODY, LibraryRuns
from tests.loop_host import INVESTIGATION
from tests.postgres import NewDatabase
from tests.runtime.test_resume_on_postgres import OnPostgres, comparable
from tests.store.builders import Store


class Expiring(OnPostgres):
    async def expire(self, investigation_id: str) -> bool:
        return await self._store.claims.expire(investigation_id)


@pytest.fixture
async def store(database: NewDatabase) -> AsyncIterator[Store]:
    made = database()
    store = Store(made.url, made.conninfo, "main")
    store.add_episode("ep-1", "main")
    yield store
    await store.database.aclose()


def runs_on(store: Store) -> LibraryRuns:
    begins = datetime.now(UTC) + timedelta(minutes=1)  # the store compares the deadline with its own clock
    return LibraryRuns(store=Expiring(store), begins=begins)


@pytest.mark.parametrize(("dies_at", "before"), [(1, True), (1, False), (4, False), (9, True), (12, False), (15, True)])
async def test_it_comes_to_the_same_end_as_in_memory(store: Store, dies_at: int, *, before: bool) -> None:
    runs = runs_on(store)
    whole = LibraryRuns(begins=runs.begins)  # what is now is evidence of neither, or of both
    expected = comparable(await whole.investigate(await whole.start()))
    assert await runs.run_and_die(dies_at, before=before)

    projection = await runs.investigate(await runs.claim())

    assert comparable(projection) == expected
    assert await runs.kinds() == await whole.kinds()
    assert await runs.bought_too_often() == []
    assert [row["status"] for row in store.look("select status from investigation")] == ["succeeded"]
    assert (await runs.investigate(NOBODY)).canonical() == projection.canonical()


async def test_it_refuses_what_is_refused_in_memory(store: Store) -> None:
    runs = runs_on(store)
    fence = await runs.start()
    with pytest.raises(IdentityMismatch):
        await runs.investigate(fence, identity=IDENTITY.but(session_id="somebody"))
    await runs.cut_after(1, fence)
    plan = runs.given_plan.but(objective="Find somebody to blame.")
    with pytest.raises(PlanMismatch):
        await runs.investigate(fence, plan=plan)
    await runs.claim()
    executions = runs.executions

    with pytest.raises(FenceLost):
        await runs.investigate(fence)

    assert runs.executions == executions
    assert store.look("select count(*) from inquest.delivery")[0]["count"] == 0
    assert (await store.investigations.get(INVESTIGATION)).status == "running"
