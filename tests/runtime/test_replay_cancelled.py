"""A cancelled investigation rebuilds to the same bytes, by whichever way its journal is read (checklist 92)."""

from __future__ import annotations

from pathlib import Path

from inquest.domain.effect import EffectState
from inquest.domain.event import Event
from inquest.errors import FenceLost
from inquest.runtime import effects
from inquest.runtime.replay import contents_wanted, rebuild, replay
from inquest.store.actions import PostgresActions
from inquest.store.journal import PostgresJournal
from tests.bootstrap.installations import Installation
from tests.entrypoints.http.conftest import rows
from tests.store.door import Door

__all__ = ["rows"]  # a fixture

import pytest


async def test_one_that_was_cancelled_in_the_middle_rebuilds_to_the_same_bytes(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = Installation(rows, tmp_path)
    found = await installation.open()
    actions, journal = PostgresActions(rows.database, "default"), PostgresJournal(rows.database, "default")
    append = effects.ClaimedActs.append

    async def cut_after_the_plan(acts: effects.ClaimedActs, *events: object, **more: object) -> None:
        await append(acts, *events, **more)  # type: ignore[arg-type]
        if any(getattr(event, "kind", "") == "turn_committed" for event in events):
            await actions.cancel(found)

    monkeypatch.setattr(effects.ClaimedActs, "append", cut_after_the_plan)
    with pytest.raises(FenceLost):
        await installation.run()

    chronicle = await journal.load(found)
    contents = await journal.content(contents_wanted(chronicle))
    assert chronicle.events[-1].body.kind == "run_cancelled"
    assert {row.state for row in chronicle.effects} <= {EffectState.COMMITTED}
    once = replay(chronicle, contents)
    parsed = tuple(Event.parse(event.canonical()) for event in chronicle.events)
    again = replay(chronicle.but(events=parsed, effects=tuple(reversed(chronicle.effects))), dict(contents))
    assert once.canonical() == again.canonical()
    before = chronicle.but(events=chronicle.events[:-1], version=chronicle.version - 1)
    assert rebuild(before, contents).investigation == rebuild(chronicle, contents).investigation
    assert not await actions.cancel(found)
    assert (await journal.load(found)) == chronicle
