"""The day's dollars are reserved before a turn and settled after: ceilings that many at once cannot pass together."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from inquest.domain.budget import Spend
from inquest.domain.fence import Fence
from inquest.domain.intake import DailyCeilings
from inquest.errors import BudgetExhausted
from inquest.ports import Fresh
from inquest.store.journal import PostgresJournal
from tests.store.builders import WORKSPACE, Store, at_once, contents, model, nudge, receipt, succeeded, write
from tests.store.test_claims_spend import DOLLAR, spend


def journal(store: Store, workspace: int | None = DOLLAR, installation: int | None = None) -> PostgresJournal:
    ceilings = DailyCeilings(workspace_usd_micros=workspace, installation_usd_micros=installation)
    return PostgresJournal(store.database, WORKSPACE, ceilings)


async def reserve(store: Store, fence: Fence, micros: int, key: str = "turn/1", **ceilings: Any) -> object:  # noqa: ANN401
    return await journal(store, **ceilings).reserve(fence, 2, model(key).but(most_usd_micros=micros))


def refusals(found: Sequence[object]) -> list[str]:
    return [one.ceiling for one in found if isinstance(one, BudgetExhausted)]


def day(store: Store, workspace: str = WORKSPACE) -> int:
    (row,) = store.look("select coalesce(sum(usd_micros), 0) as micros from spend_day where workspace = %s", workspace)
    assert isinstance(row["micros"], int | Decimal)
    return int(row["micros"])


async def test_of_many_turns_at_once_only_as_many_are_reserved_as_the_day_can_pay(store: Store) -> None:
    fences = [await store.started(f"inv-{number}") for number in range(4)]

    found = await at_once(*(reserve(store, fence, 400_000) for fence in fences))

    assert sorted(type(one).__name__ for one in found) == ["BudgetExhausted"] * 2 + ["Fresh"] * 2
    assert refusals(found) == ["workspace_usd_a_day"] * 2


async def test_a_turn_that_could_cross_the_day_is_refused_before_it_is_asked(store: Store) -> None:
    fence = await store.started()
    spend(store, 900_000)

    with pytest.raises(BudgetExhausted) as refused:
        await reserve(store, fence, 100_001)

    assert (refused.value.ceiling, refused.value.used, refused.value.allowed) == (
        "workspace_usd_a_day", 900_000, DOLLAR,
    )  # fmt: skip
    assert store.look("select key from effect") == [], "nothing is left of it"
    assert await reserve(store, fence, 100_000) == Fresh()


async def test_the_ceiling_of_all_workspaces_counts_what_each_of_them_may_still_spend(store: Store) -> None:
    fence = await store.started()
    spend(store, 700_000, "")

    with pytest.raises(BudgetExhausted) as refused:
        await reserve(store, fence, 300_001, installation=DOLLAR)

    assert refused.value.ceiling == "installation_usd_a_day"


async def test_what_a_turn_did_cost_takes_the_place_of_what_it_may_cost(store: Store) -> None:
    fence = await store.started()
    here = journal(store)
    await reserve(store, fence, 900_000)
    cost = Spend(model_turns=1, usd_micros=100_000)
    await here.commit(
        write(fence, 2, nudge(), receipts=(receipt(model("turn/1")),), contents=contents(b"{}"), spend=cost)
    )

    assert day(store) == 100_000
    assert await here.reserve(fence, 3, model("turn/2").but(most_usd_micros=900_000)) == Fresh()


async def test_a_turn_of_unknown_cost_takes_all_that_was_reserved_for_it(store: Store) -> None:
    fence = await store.started()
    await reserve(store, fence, 300_000)
    unknown = Spend(model_turns=1, turns_of_unknown_cost=1)
    await journal(store).commit(
        write(fence, 2, nudge(), receipts=(receipt(model("turn/1")),), contents=contents(b"{}"), spend=unknown)
    )

    assert (day(store), day(store, "")) == (300_000, 300_000)


async def test_what_has_ended_holds_nothing_of_the_day_back(store: Store) -> None:
    first, second = await store.started("inv-1"), await store.started("inv-2")
    await reserve(store, first, DOLLAR)
    with pytest.raises(BudgetExhausted):
        await reserve(store, second, 1)

    await store.journal.commit(write(first, 2, succeeded()))

    assert await reserve(store, second, DOLLAR) == Fresh()


async def test_a_turn_that_costs_nothing_waits_for_no_day(store: Store) -> None:
    fence = await store.started()
    spend(store, 5 * DOLLAR)

    assert await reserve(store, fence, 0) == Fresh()


async def test_without_a_ceiling_nothing_is_refused(store: Store) -> None:
    fence = await store.started()
    spend(store, 5 * DOLLAR)

    assert await reserve(store, fence, DOLLAR, workspace=None) == Fresh()
