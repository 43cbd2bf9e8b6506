"""A day's ceiling that a turn would cross ends the loop with a stop reason, never with an exception."""

from __future__ import annotations

from typing import Any

from inquest.domain.event import CeilingReached, LoopSteered
from inquest.errors import BudgetExhausted
from inquest.models.scripted import in_order
from inquest.store.memory import MemoryJournal
from tests.loop_host import Host, call, calls, tool

PRICE = 7


class SpentDay:
    """A store whose day is spent when the second turn is to be reserved."""

    def __init__(self, memory: MemoryJournal) -> None:
        self._memory = memory
        self.asked: list[int] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the store has
        return getattr(self._memory, name)

    async def reserve(self, fence: Any, version: int, reservation: Any) -> Any:  # noqa: ANN401  # the store's
        self.asked.append(reservation.most_usd_micros)
        if reservation.key == "turn/2":
            raise BudgetExhausted("workspace_usd_a_day", used=50_000_000, allowed=50_000_000)
        return await self._memory.reserve(fence, version, reservation)


async def test_the_days_ceiling_ends_the_loop_and_is_said() -> None:
    stores: list[SpentDay] = []

    def spent(memory: MemoryJournal) -> SpentDay:
        stores.append(SpentDay(memory))
        return stores[-1]

    host = Host([tool("metrics_query")], wrap=spent, price=lambda asked, answered: PRICE * (asked + answered) // 1_000)

    gathered = await host.gather(in_order([calls(call("metrics_query", expression="up"))]))

    assert (gathered.stop_reason, gathered.turns, gathered.limits_hit) == ("max_usd", 1, ("max_usd",))
    steered = [one.steering for one in await host.bodies(LoopSteered)]
    assert CeilingReached(turn=2, ceiling="max_usd", used=50_000_000, allowed=50_000_000) in steered
    assert all(micros > 0 for store in stores for micros in store.asked), "each turn says what it may cost at most"
