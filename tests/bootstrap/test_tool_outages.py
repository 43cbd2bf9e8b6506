"""A source that drips under a whole investigation: the call ends with the deadline, and so does the investigation."""

from __future__ import annotations

import itertools
from pathlib import Path

from inquest.domain.event import RunSucceeded
from tests.bootstrap.files import prometheus
from tests.bootstrap.installations import Installation
from tests.fakes.loopback import Act, Seen, Stream, loopback
from tests.fakes.prometheus import success
from tests.store.door import Door


class Moody:
    """Drips a byte a second at the first question, and answers the others."""

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, _: Seen) -> Act:
        self.asked += 1
        if self.asked == 1:
            return Stream((b" " for _ in itertools.count()), pause_s=1.0)
        return success({"resultType": "matrix", "result": []})


async def test_an_investigation_whose_source_drips_for_ever_ends_at_its_deadline_with_a_report(
    door: Door, tmp_path: Path
) -> None:
    moody = Moody()
    async with loopback(moody.answer) as source:
        installation = Installation(
            door, tmp_path, integrations={"metrics": prometheus(source.url)}, budgets={"wall_clock": "10s"}
        )
        opened = await installation.open()
        await installation.run()
        await installation.workspaces["default"].aclose()

    last = (await installation.events(opened))[-1].body
    assert isinstance(last, RunSucceeded)
    assert (last.stop_reason, last.spend.connector_effects) == ("deadline", moody.asked)
    assert set(door.column("select state from effect")) == {"committed"}
    assert door.column("select kind from delivery order by revision desc limit 1") == ["report"]
