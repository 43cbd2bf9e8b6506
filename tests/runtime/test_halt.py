"""A halt while several workers are in the middle of their work: all of it drains to queued, and goes on afterwards."""

from __future__ import annotations

import asyncio

from tests.runtime.test_worker import House, house, open_with_target
from tests.store.builders import silence
from tests.waiting import until

__all__ = ["house"]  # a fixture

NAMES = ("inv-1", "inv-2", "inv-3")


async def test_every_worker_lets_go_at_its_next_step_and_what_was_called_is_not_called_again(house: House) -> None:
    for name in NAMES:
        await open_with_target(house, name)
    await house.world.pause("call/2")
    async with house.working(house.worker(), house.worker()):
        await until(lambda: _all_reached(house, "call/2"))
        await house.store.claims.halt(actor="ana")
        await house.world.resume("call/2")
        await until(lambda: [house.row(name)["status"] for name in NAMES] == ["queued"] * 3)
        await open_with_target(house, "inv-4")
        # The sweeps look, and ring for nothing. In a thread: a worker of this loop may hold the row of a bell.
        await asyncio.to_thread(silence, house.store)
        assert sorted(await house.world.calls()) == [(name, turn) for name in NAMES for turn in (1, 2)]
        assert await house.world.messages() == []

        await house.store.claims.resume()
        await house.ended(*NAMES, "inv-4")
        await until(lambda: _all_told(house, 4))

    assert sorted(await house.world.calls()) == [(name, turn) for name in (*NAMES, "inv-4") for turn in (1, 2, 3)]
    assert [house.row(name)["attempt"] for name in (*NAMES, "inv-4")] == [1] * 4


async def _all_reached(house: House, point: str) -> bool:
    return len(await house.world.reached(point)) == len(NAMES)


async def _all_told(house: House, count: int) -> bool:
    return len(await house.world.messages()) == count
