"""A small storm against real processes: what comes of it to the row, and never how fast (`make storm` prints that)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.storm.judge import judge
from bench.storm.storm import MAX_RUNNING, Storm, storming

pytestmark = pytest.mark.e2e


def test_a_storm_is_one_investigation_a_group_and_every_alert_is_accounted_for(say: Callable[[str], None]) -> None:
    with storming(Storm(alerts=1_000, seconds=5, groups=6, short=True)) as ran:
        judged = judge(ran)

    say(f"1,000 alerts, 6 groups: {judged.investigations} investigations, {judged.usd:.2f} USD")
    assert judged.wrong == ()
    assert (judged.investigations, judged.reports) == (6, 6)
    assert 1 < judged.most_overlapping <= MAX_RUNNING, "the storm filled the room, and no more"
