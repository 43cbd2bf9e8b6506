"""What retention removes, whole and by its own age, and that it touches nothing that lives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from inquest.domain.intake import RetentionAges
from inquest.ports import Removed
from inquest.store.actions import PostgresActions
from inquest.store.retention import MAX_REMOVED_AT_ONCE, PostgresRetention
from tests.postgres import NewDatabase
from tests.store.door import Door, arrival, firing, intake, resolved

DAY = timedelta(days=1)
AGES = RetentionAges(investigations=10 * DAY, intake=30 * DAY)
TABLES = ("investigation", "episode", "alert_group", "alert", "intake_receipt", "receipt_body", "content", "event")


@pytest.fixture
async def door(database: NewDatabase) -> AsyncIterator[Door]:
    made = database()
    door = Door(made.url, made.conninfo)
    yield door
    await door.aclose()


def retention(door: Door, ages: RetentionAges = AGES, workspace: str = "acme") -> PostgresRetention:
    return PostgresRetention(door.database, {workspace: ages})


async def whole_pass(door: Door, ages: RetentionAges = AGES) -> Removed:
    """Remove until nothing is left."""
    keeper, total = retention(door, ages), Removed()
    while (found := await keeper.remove()) != Removed():
        total = total.and_(found)
    return total


async def over(door: Door, service: str = "checkout", name: str = "HighLatency") -> None:
    """Open an investigation, end it, and end its episode."""
    await door.post(firing(name, service=service))
    door.end_investigation()
    await door.post(resolved(name, service=service))
    door.pass_time(timedelta(hours=1))
    door.sweep()


def counted(door: Door) -> dict[str, int]:
    return {table: door.column(f"select count(*) from {table}")[0] for table in TABLES}  # noqa: S608


async def test_what_ended_longer_ago_than_it_is_kept_goes_whole_and_each_by_its_own_age(door: Door) -> None:
    await over(door)
    door.pass_time(9 * DAY)
    assert await whole_pass(door) == Removed()

    door.pass_time(2 * DAY)
    assert await whole_pass(door) == Removed(investigations=1)
    assert door.column("select status from investigation") == ["deleting"]
    assert counted(door)["intake_receipt"] == 2

    door.pass_time(20 * DAY)
    assert await whole_pass(door) == Removed(receipts=2, episodes=1, alerts=1), "the bytes went before"
    assert set(counted(door).values()) == {0}


async def test_what_goes_on_is_not_touched_however_old_it_is(door: Door) -> None:
    await door.post(firing(service="runs"))
    await over(door, "other")
    await door.post(firing(service="fires"))
    door.rows("update investigation set ended_at = now(), status = 'succeeded' where service = 'fires'")
    door.rows("update episode set quiet_for = '100 years', stale_after = '100 years', next_stale_at = 'infinity'")
    door.rows("update investigation set status = 'running', ended_at = null where service = 'runs'")
    door.pass_time(400 * DAY)
    door.rows("update investigation set counted_as = '' where service = 'fires'")  # its post goes by its own age
    living = door.rows("select * from investigation where service <> 'other' order by 1")

    await whole_pass(door)

    assert door.rows("select * from investigation order by 1") == living
    assert sorted(door.column("select labels ->> 'service' from alert")) == ["fires", "runs"]
    (runs,) = door.column("select receipt_id from investigation where service = 'runs'")
    assert runs in door.column("select receipt_id from intake_receipt"), "its post is kept until it ends"
    assert await door.post(firing(service="runs")) == {"duplicate": 1}


async def test_an_episode_stays_while_anything_of_its_investigations_does(door: Door) -> None:
    await over(door)
    door.pass_time(400 * DAY)
    door.rows("update investigation set ended_at = now()")

    assert await whole_pass(door) == Removed(receipts=2, bodies=2)
    assert (counted(door)["episode"], counted(door)["alert"]) == (1, 1)


async def test_a_group_that_was_removed_begins_anew(door: Door) -> None:
    await over(door)
    door.pass_time(400 * DAY)
    await whole_pass(door)

    assert await door.post(firing()) == {"opened": 1}


async def test_the_next_episode_of_a_group_outlives_the_one_before(door: Door) -> None:
    await over(door)
    door.pass_time(400 * DAY)
    await door.post(firing())

    await whole_pass(door)

    assert counted(door)["episode"] == 1
    assert door.column("select status from investigation") == ["queued"]
    assert await door.post(firing()) == {"duplicate": 1}


async def test_the_equation_holds_for_what_is_left(door: Door) -> None:
    await over(door, "old")
    door.pass_time(40 * DAY)
    await over(door, "new")
    await door.post(firing(service="new", pod="p2"), firing(service="x"))

    await whole_pass(door)

    (accounts,) = door.rows("select * from accounting('acme')")
    assert (accounts["balanced"], accounts["accepted"]) == (True, 4)


async def test_bytes_that_a_younger_post_has_too_stay(door: Door) -> None:
    same = arrival(firing(), into=intake())
    await door.take(same)
    door.end_investigation()
    door.pass_time(40 * DAY)
    await door.take(same)

    assert (await whole_pass(door)).receipts == 1
    assert counted(door)["receipt_body"] == 1


async def test_a_heartbeat_is_kept_and_a_resolve_that_never_fired_here_is_not(door: Door) -> None:
    await door.post(firing("Watchdog", severity="none"), resolved("Nobody", service="lost"))
    door.pass_time(400 * DAY)

    await whole_pass(door)

    assert door.column("select name from alert") == ["Watchdog"]


async def test_one_step_removes_a_bounded_amount_and_steps_come_to_an_end(door: Door) -> None:
    for number in range(MAX_REMOVED_AT_ONCE + 5):
        await door.post(resolved("Nobody", service=f"s{number}"))
    door.pass_time(400 * DAY)

    assert (await retention(door).remove()).receipts == MAX_REMOVED_AT_ONCE
    assert (await retention(door).remove()).receipts == 5
    assert await retention(door).remove() == Removed()


async def test_a_workspace_that_nobody_configured_is_left_alone(door: Door) -> None:
    await over(door)
    door.pass_time(400 * DAY)

    assert await retention(door, workspace="rival").remove() == Removed()


async def test_of_all_workers_one_has_the_pass_once_an_hour(door: Door) -> None:
    assert [await retention(door).begin() for _ in range(3)] == [True, False, False]
    door.rows("update retention_pass set began_at = began_at - interval '1 hour'")
    assert [await retention(door).begin() for _ in range(2)] == [True, False]


async def test_without_the_retention_role_investigations_are_kept_and_nothing_breaks(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await over(door)
    door.pass_time(400 * DAY)
    door.rows("create or replace function can_purge() returns boolean language sql as 'select false'")

    assert await whole_pass(door) == Removed(receipts=2, bodies=2)
    assert door.column("select status from investigation") == ["succeeded"]


# ---- bytes that two posts have


async def test_the_bytes_of_a_post_that_came_to_another_intake_too_stay_until_both_are_deleted(door: Door) -> None:
    hand, there = PostgresActions(door.database, "acme"), intake(name="other", group_by=("alertname", "severity"))
    for into in (intake(), there):
        await door.take(arrival(firing("Shared"), into=into))
    mine, others = door.column("select investigation_id from investigation order by created_at")
    door.end_investigation()

    await hand.delete(mine)
    assert len(door.column("select 1 from receipt_body")) == 1
    await hand.delete(others)
    assert door.column("select 1 from receipt_body") == []
