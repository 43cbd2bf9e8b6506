"""The end of what cannot be read back: what was spent stays spent."""

from __future__ import annotations

import pytest

from inquest.domain.budget import Limits
from inquest.domain.investigation import Status
from inquest.errors import InvariantBroken, NotFound
from inquest.investigators.analyst import Analyst
from inquest.models.scripted import count_tokens
from inquest.runtime.ends import conclude_failed
from inquest.runtime.kit import Opened, RunKit
from inquest.stages.gather_evidence.kit import no_changes
from tests.loop_host import BOUNDARY, INVESTIGATION, Host, call, calls, reply
from tests.loop_host import tool as source

KIT = RunKit(
    connectors=(), catalogue=(), health={}, investigator=Analyst(), analyst=Analyst(), count_tokens=count_tokens,
    prompts={}, limits=Limits(), boundary=BOUNDARY, signer=None, release="inquest/test", episode_changes=no_changes,
)  # fmt: skip


async def never() -> Opened:
    raise InvariantBroken("it was opened long ago")


async def test_what_was_spent_stays_spent_when_the_journal_cannot_be_read_back() -> None:
    host = Host([source("prometheus_query_range")])
    script = [calls(call("prometheus_query_range", expression="up")), *[reply("It broke.")] * 3]
    fence = await host.start()
    await host.gather(lambda view: script[min(view.turn, len(script)) - 1], fence)
    before = host.memory.spend(INVESTIGATION)
    assert before.model_turns > 0
    host.memory._contents.clear()

    await conclude_failed(await host.acts(fence), KIT, never)

    assert host.memory.status(INVESTIGATION) is Status.FAILED
    assert host.memory.spend(INVESTIGATION) == before
    with pytest.raises(NotFound):
        await host.rebuilt()
