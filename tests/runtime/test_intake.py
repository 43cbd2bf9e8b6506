"""A post is tried twice under one receipt id, and no more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import psycopg
import pytest

from inquest.domain.alert import Post
from inquest.domain.intake import Accepted, Arrival, IntakeConfig, Keyed, keyed
from inquest.errors import StoreUnavailable
from inquest.runtime import intake as subject
from inquest.runtime.clock import RandomIds
from inquest.runtime.intake import MANY_ALERTS, accept
from tests.postgres import NewDatabase
from tests.store.builders import eventually
from tests.store.door import Door, arrival, counts, firing, intake, named

Try = Callable[[], Awaitable[Accepted]]


@pytest.fixture
async def door(database: NewDatabase) -> AsyncIterator[Door]:
    made = database()
    door = Door(made.url, made.conninfo)
    yield door
    await door.aclose()


class Failing:
    """The store, with what goes wrong around each of its tries in turn."""

    def __init__(self, behind: Door, *around: Callable[[Try], Awaitable[Accepted]]) -> None:
        self._behind = behind
        self._around = list(around)
        self.receipts: list[str] = []

    async def accept(self, receipt_id: str, arrival: Arrival, members: Sequence[Keyed]) -> Accepted:
        self.receipts.append(receipt_id)
        around = self._around.pop(0)
        return await around(lambda: self._behind.intake.accept(receipt_id, arrival, members))


async def works(do: Try) -> Accepted:
    return await do()


async def breaks_before(_: Try) -> Accepted:
    raise StoreUnavailable("the connection broke")


async def breaks_after(do: Try) -> Accepted:
    await do()
    raise StoreUnavailable("the connection broke")


async def test_a_connection_that_broke_before_the_commit_is_tried_once_more_under_the_same_id(door: Door) -> None:
    store = Failing(door, breaks_before, works)
    assert counts(await accept(arrival(firing()), intake=store, ids=RandomIds())) == {"opened": 1}

    assert len(store.receipts) == 2
    assert len(set(store.receipts)) == 1
    assert door.column("select occurrences from alert") == [1]


async def test_a_connection_that_broke_after_the_commit_gives_the_answer_of_the_first_try(door: Door) -> None:
    store = Failing(door, breaks_after, works)
    accepted = await accept(arrival(firing()), intake=store, ids=RandomIds())

    assert (counts(accepted), len(accepted.investigations), accepted.outcomes) == ({"opened": 1}, 1, None)
    assert door.column("select occurrences from alert") == [1]
    assert door.accounts() == {"accepted": 1, "opened": 1}


async def test_a_second_failure_is_the_callers(door: Door) -> None:
    store = Failing(door, breaks_before, breaks_before, works)
    with pytest.raises(StoreUnavailable):
        await accept(arrival(firing()), intake=store, ids=RandomIds())
    assert len(store.receipts) == 2


async def test_a_post_that_takes_too_long_is_503_and_goes_on_being_taken_in(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()

    async def is_slow(do: Try) -> Accepted:
        await go_on.wait()
        return await do()

    monkeypatch.setattr(subject, "ACCEPT_TIMEOUT_S", 0.05)
    with pytest.raises(StoreUnavailable, match="within"):
        await accept(arrival(firing()), intake=Failing(door, is_slow), ids=RandomIds())
    monkeypatch.undo()
    go_on.set()

    async def taken_in() -> bool | None:
        return door.column("select occurrences from alert") == [1] or None

    await eventually(taken_in)
    assert counts(await accept(arrival(firing()), intake=door.intake, ids=RandomIds())) == {"duplicate": 1}


async def test_connections_that_a_restart_killed_cost_no_post(door: Door) -> None:
    await door.take(arrival(firing()))
    with psycopg.connect(door.conninfo, autocommit=True) as killer:
        killer.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and query like '%inquest.accept(%' and pid <> pg_backend_pid()"
        )
    store = Failing(door, works, works)
    accepted = await accept(arrival(firing(pod="b")), intake=store, ids=RandomIds())

    assert counts(accepted) == {"joined": 1}
    assert len(store.receipts) == 2


async def test_a_warning_about_grouping_is_kept_with_the_receipt(door: Door) -> None:
    await accept(arrival(firing(), into=intake(group_by=("absent",))), intake=door.intake, ids=RandomIds())

    (receipt,) = await door.alerts.receipts("acme")
    assert receipt.warnings == ("no dedupe field present in 1 alerts (group_by: absent): each is a group of its own",)


async def test_many_alerts_are_keyed_beside_the_event_loop(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def seen(post: Post, config: IntakeConfig) -> tuple[tuple[Keyed, ...], tuple[str, ...]]:
        threads.append(threading.get_ident())
        return keyed(post, config)

    monkeypatch.setattr(subject, "keyed", seen)
    for size in (1, MANY_ALERTS + 1):
        await accept(arrival(*named([str(n) for n in range(size)])), intake=door.intake, ids=RandomIds())

    assert [thread == threading.get_ident() for thread in threads] == [True, False]
