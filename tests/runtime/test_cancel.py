"""A worker whose investigation is cancelled: it notices, stops what runs, and says nothing of it."""

from __future__ import annotations

import asyncio

import structlog

from inquest.domain.investigation import Status
from inquest.ports import Claimed
from inquest.runtime.lease import LeaseGuard
from inquest.store.actions import PostgresActions
from tests.runtime.test_worker import House, house, open_with_target
from tests.store.builders import WORKSPACE
from tests.waiting import until

__all__ = ["house"]  # a fixture


async def test_what_runs_is_cut_at_once_and_nothing_is_charged_or_reported(house: House) -> None:
    actions = PostgresActions(house.store.database, WORKSPACE)
    began, cut = asyncio.Event(), asyncio.Event()

    async def hang(_: Claimed, __: LeaseGuard) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()

    await house.store.opened()
    with structlog.testing.capture_logs() as logged:
        async with house.working(house.worker(hang)):
            await began.wait()
            await actions.cancel("inv-1")
            await cut.wait()
            await until(lambda: any(line["event"] == "fence_lost" for line in logged))

    row = house.row()
    assert (row["status"], row["attempt"], row["lease_expires_at"]) == ("cancelled", 1, None)
    assert not [line for line in logged if line["log_level"] in {"error", "critical"}]


async def test_what_was_cancelled_says_so_at_its_destination_and_the_next_one_runs(house: House) -> None:
    actions = PostgresActions(house.store.database, WORKSPACE)
    await house.world.pause("call/2")
    await open_with_target(house)
    async with house.working(house.worker(concurrency=1)):
        await until(lambda: house.world.reached("call/2"))
        await house.store.opened("inv-2")
        await actions.cancel("inv-1")
        await until(house.world.messages)
        await house.world.resume("call/2")
        await house.ended("inv-2")

    assert await house.store.status() is Status.CANCELLED
    assert [call for call in await house.world.calls() if call[0] == "inv-1"] == [("inv-1", 1)]
    [(_, body)] = await house.world.messages()
    assert "cancelled" in body
