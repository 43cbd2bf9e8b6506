"""A worker whose wall clock is wrong does what any other does: the database's clock decides."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.domain.budget import WALL_CLOCK
from inquest.domain.effect import EffectKind
from inquest.domain.event import RunStarted
from inquest.domain.observation import Observation, Ok, Recorded
from inquest.ports import Chronicle
from inquest.runtime.clock import SystemClock
from inquest.store.journal import PostgresJournal
from inquest.wire.refusals import MAX_SPAN, SKEW
from tests.bootstrap.files import prometheus
from tests.bootstrap.installations import Installation
from tests.fakes.loopback import Reply, Seen, loopback
from tests.fakes.prometheus import route, success
from tests.store.door import Door

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
AGO = 30 * MINUTE
"""Far more than a test takes, and less than any of the clocks is wrong."""
WRONG: dict[str, Callable[[datetime], datetime]] = {
    "an hour behind": lambda right: right - HOUR,
    "an hour ahead": lambda right: right + HOUR,
    "in 1970": lambda right: right.replace(year=1970, day=1),
    "in 2001": lambda right: right.replace(year=2001, day=1),
    "in year 1": lambda right: right.replace(year=1, day=1),
}
"""What a machine's clock says. An operating system's begins in 1970; code can be told anything."""
right = SystemClock.now


def nothing_there(seen: Seen) -> Reply:
    """Answer as a Prometheus that has nothing."""
    match route(seen):
        case "query":
            return success({"resultType": "vector", "result": []})
        case "query_range":
            return success({"resultType": "matrix", "result": []})
        case "rules":
            return success({"groups": []})
        case "alerts":
            return success({"alerts": []})
        case _:
            return success([])


async def observed(door: Door, folder: Path, at: datetime | None) -> tuple[Chronicle, list[Observation]]:
    """Investigate an alert that began `at`, and give its record with everything that was observed."""
    async with loopback(nothing_there) as server:
        installation = Installation(door, folder, integrations={"prometheus": prometheus(server.url)})
        opened = await installation.open(at=at)
        await installation.run()
        await installation.aclose()
    assert installation.value("select status || generation || attempt from investigation") == "succeeded11"
    journal = PostgresJournal(door.database, "default")
    chronicle = await journal.load(opened)
    digests = [str(row.outcome_digest) for row in chronicle.effects if row.kind is EffectKind.QUERY]
    outcomes = [Recorded.parse(raw).outcome for raw in (await journal.content(digests)).values()]
    assert {outcome.status for outcome in outcomes} == {"ok"}
    return chronicle, [one for outcome in outcomes if isinstance(outcome, Ok) for one in outcome.observations]


@pytest.mark.parametrize("clock", WRONG)
async def test_a_wrong_wall_clock_refuses_no_query_and_moves_no_window_and_no_deadline(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    monkeypatch.setattr(SystemClock, "now", lambda self: WRONG[clock](right(self)))

    chronicle, observations = await observed(door, tmp_path, right(SystemClock()) - 5 * MINUTE)

    now = right(SystemClock())
    started = chronicle.events[0].body
    assert isinstance(started, RunStarted)
    assert abs(started.started_at - now) < AGO
    assert started.deadline_at - started.started_at == WALL_CLOCK
    for one in observations:
        assert abs(one.retrieved_at - now) < AGO
        assert now - 6 * HOUR < one.time_range.start < one.time_range.end <= now + SKEW


BEGAN: dict[str, Callable[[datetime], datetime | None]] = {
    "in two hours": lambda now: now + 2 * HOUR,
    "thirty days ago": lambda now: now - timedelta(days=30),
    "in the second year of all": lambda _: datetime(2, 1, 1, tzinfo=UTC),
    "in the last year of all": lambda _: datetime(9999, 12, 31, tzinfo=UTC),
    "at no moment that can be read, as in year 99999": lambda _: None,
}


@pytest.mark.parametrize("began", BEGAN)
async def test_no_start_of_an_alert_makes_a_stuck_investigation_or_a_window_that_no_source_reads(
    door: Door, tmp_path: Path, began: str
) -> None:
    _, observations = await observed(door, tmp_path, BEGAN[began](right(SystemClock())))

    assert observations
    for one in observations:
        assert one.time_range.start < one.time_range.end <= right(SystemClock()) + SKEW
        assert one.time_range.length <= MAX_SPAN
