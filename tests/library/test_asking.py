"""A host lets the model ask only where it says so; the journal then takes the answer, and the next call goes on."""

from __future__ import annotations

import pytest

from inquest.domain.budget import Limits
from inquest.domain.event import InterruptRaised
from inquest.domain.investigation import Status
from inquest.errors import FenceLost, WaitsForAnswer
from inquest.library import HostTerms
from tests.library.library_runs import KEY, LibraryRuns
from tests.loop_host import INVESTIGATION, call, calls, judged, reply

Q1 = f"{INVESTIGATION}-q1"
SCRIPT = [
    calls(call("ask_human", "q", question="Who deployed?")),
    calls(*judged("h1", "h2", "h3", "h4")),
    reply("The deployment broke it."),
]


async def test_a_host_that_says_nothing_of_questions_is_asked_none() -> None:
    runs = LibraryRuns(script=SCRIPT)

    projection = await runs.investigate(await runs.start())

    assert projection.stop_reason == "concluded"
    assert await runs.bodies(InterruptRaised) == []


async def test_a_run_that_asks_lets_go_and_goes_on_with_the_answer_under_a_new_fence() -> None:
    runs = LibraryRuns(script=SCRIPT, lent=HostTerms(key=KEY, limits=Limits(max_questions=1)))
    fence = await runs.start()
    with pytest.raises(WaitsForAnswer, match=Q1):
        await runs.investigate(fence)
    assert runs.memory.status(INVESTIGATION) is Status.WAITING
    with pytest.raises(FenceLost):
        await runs.investigate(fence)

    await runs.memory.answer(INVESTIGATION, Q1, "alice did")
    claimed = await runs.memory.claim("another")
    assert claimed is not None
    projection = await runs.investigate(claimed.fence)

    assert projection.stop_reason == "concluded"
    again = await runs.investigate(fence)
    assert again.canonical() == projection.canonical()
