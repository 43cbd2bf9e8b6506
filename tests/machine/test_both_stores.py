"""The same schedules on the store in memory and on the one in Postgres: every call is answered alike by both."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.machine.both import Both
from tests.machine.schedule import drawn, play
from tests.postgres import NewDatabase
from tests.store.builders import Store

SCHEDULES = 300
PARTS = 10
EVERY_DAY = 1
"""Parts that run with all tests; the others run with `make e2e`. Beside these, `tests/store/test_same_answers*.py` play 244."""


@pytest.fixture
async def store(database: NewDatabase) -> AsyncIterator[Store]:
    made = database()
    store = Store(made.url, made.conninfo)
    yield store
    await store.database.aclose()


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=() if part < EVERY_DAY else pytest.mark.e2e) for part in range(PARTS)]
)
async def test_both_stores_answer_every_call_alike(store: Store, part: int) -> None:
    for seed in range(part, SCHEDULES, PARTS):
        schedule, workspace = drawn(seed), f"s{seed}"
        names = tuple(f"{workspace}-inv-{number}" for number in range(1, schedule.investigations + 1))
        place = Both(store.database, workspace)
        store.add_episode(f"episode-of-{workspace}", workspace)
        await place.open(names, f"episode-of-{workspace}")
        await play(place, schedule, names)
        for name in names:
            await place.check_alike(name)
