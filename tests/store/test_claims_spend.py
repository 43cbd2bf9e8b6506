"""The day's dollars, as claims see them: what has not begun waits for the next day (design 1, hard ceilings)."""

from __future__ import annotations

import pytest

from inquest.domain.investigation import Status
from inquest.store.claims import PostgresClaims
from inquest.store.lease import ClaimLimits
from tests.store.builders import WORKSPACE, Store

DOLLAR = 1_000_000
A_DOLLAR_A_DAY = ClaimLimits(max_running=9, usd_micros_a_day={WORKSPACE: DOLLAR})


def spend(store: Store, micros: int, workspace: str = WORKSPACE, days_ago: int = 0) -> None:
    store.look(
        "insert into spend_day (workspace, day, usd_micros)"
        " values (%s, (clock_timestamp() at time zone 'UTC')::date - %s, %s)"
        " on conflict (workspace, day) do update set usd_micros = excluded.usd_micros", workspace, days_ago, micros
    )  # fmt: skip


async def claim(store: Store, limits: ClaimLimits = A_DOLLAR_A_DAY) -> str | None:
    claimed = await PostgresClaims(store.database, limits).claim("owner-1")
    return None if claimed is None else claimed.fence.investigation_id


async def test_what_was_queued_before_the_day_was_spent_waits_for_the_next_one(store: Store) -> None:
    await store.opened("inv-1")
    await store.opened("inv-2")
    store.add_target("inv-2")
    spend(store, DOLLAR)

    assert await claim(store) is None

    assert [await store.status(name) for name in ("inv-1", "inv-2")] == [Status.DEFERRED] * 2
    (row,) = store.look(
        "select defer_reason, not_before at time zone 'UTC' = (clock_timestamp() at time zone 'UTC')::date + 1 as midnight"
        " from investigation where investigation_id = 'inv-2'"
    )
    assert row == {"defer_reason": "daily_usd", "midnight": True}
    assert store.look("select kind, note from delivery") == [{"kind": "received", "note": "daily_usd"}]


async def test_what_has_begun_goes_on_when_the_day_is_spent(store: Store) -> None:
    fence = await store.started()
    spend(store, DOLLAR)
    await store.claims.release(fence)

    assert await claim(store) == "inv-1"


@pytest.mark.parametrize(
    ("micros", "workspace", "days_ago"), [(DOLLAR - 1, WORKSPACE, 0), (DOLLAR, "rival", 0), (DOLLAR, WORKSPACE, 1)]
)
async def test_only_this_workspaces_dollars_of_today_defer(
    store: Store, micros: int, workspace: str, days_ago: int
) -> None:
    await store.opened()
    spend(store, micros, workspace, days_ago)

    assert await claim(store) == "inv-1"


async def test_no_dollars_a_day_are_spent_before_the_first(store: Store) -> None:
    await store.opened()

    assert await claim(store, ClaimLimits(usd_micros_a_day={WORKSPACE: 0})) is None
    assert await store.status() is Status.DEFERRED


async def test_a_workspace_that_costs_nothing_has_no_such_ceiling(store: Store) -> None:
    await store.opened()
    spend(store, DOLLAR)

    assert await claim(store, ClaimLimits(usd_micros_a_day={"rival": 0})) == "inv-1"


@pytest.mark.parametrize(("of_all", "deferred"), [(DOLLAR, True), (DOLLAR + 1, False)])
async def test_what_all_workspaces_spent_together_holds_back_as_well(
    store: Store, of_all: int, *, deferred: bool
) -> None:
    await store.opened()
    spend(store, DOLLAR, workspace="")
    limits = ClaimLimits(usd_micros_a_day={WORKSPACE: 9 * DOLLAR}, installation_usd_micros_a_day=of_all)

    assert await claim(store, limits) == (None if deferred else "inv-1")


async def test_dollars_of_all_workspaces_hold_nothing_back_where_nothing_costs_any(store: Store) -> None:
    await store.opened()
    spend(store, DOLLAR, workspace="")

    assert await claim(store, ClaimLimits(installation_usd_micros_a_day=DOLLAR)) == "inv-1"
