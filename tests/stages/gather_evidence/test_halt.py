"""A halt in the middle of the loop: nothing new is reserved, and what was paid for is kept."""

from __future__ import annotations

import pytest

from inquest.errors import Halted
from inquest.models.scripted import Line, in_order
from inquest.ports import LoopView
from tests.loop_host import Host, call, calls, judged, reply, tool

SCRIPT = in_order([calls(call("metrics_query", expression="up")), calls(*judged("h1")), reply("It broke.")])


async def test_a_turn_that_was_paid_for_while_the_halt_came_is_not_asked_again() -> None:
    host = Host([tool("metrics_query")])
    fence = await host.start()

    def halting(view: LoopView) -> Line:
        host.memory._halted = True  # a script cannot wait
        return SCRIPT(view)

    with pytest.raises(Halted):
        await host.gather(halting, fence)
    assert host.executions == 0, "its calls were not reserved"
    await host.memory.release(fence)
    await host.memory.resume()

    gathered = await host.gather(SCRIPT, await host.claim())

    assert (gathered.stop_reason, gathered.turns, host.executions) == ("concluded", 3, 1)
    assert [view.turn for view in host.views] == [1, 2, 3], "turn 1 was answered from its receipt"
