"""The state of the loop from a whole journal: pure, and the same for a worker that resumes and for replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inquest.domain.event import EventBody, PlanCommitted
from inquest.errors import InvariantBroken
from inquest.ports import Acts, Chronicle
from inquest.stages.fold import fold
from inquest.stages.gather_evidence.absorb import absorb
from inquest.stages.gather_evidence.record import Record, wanted
from inquest.stages.gather_evidence.state import LoopState, begin


def record_of(chronicle: Chronicle, contents: Mapping[str, bytes]) -> Record:
    """Give the fold what it reads beside the events."""
    return Record(effects={row.key: row for row in chronicle.effects}, contents=contents)


def fold_loop(bodies: Sequence[EventBody], record: Record) -> LoopState:
    """Fold a journal whose plan is committed.

    Raises InvariantBroken before that, ReplayMismatch naming a content or receipt that is missing.
    """
    at = next((number for number, body in enumerate(bodies) if isinstance(body, PlanCommitted)), None)
    investigation = None if at is None else fold(bodies[: at + 1])
    if at is None or investigation is None:
        msg = "the loop begins when the plan is committed"
        raise InvariantBroken(msg)
    state = begin(investigation, record)
    for body in bodies[at + 1 :]:
        state = absorb(state, body, record)
    return state


async def load(acts: Acts) -> LoopState:
    """Fold what `acts` has recorded. Raises as `fold_loop`, and NotFound for a content that is gone."""
    chronicle = acts.chronicle
    bodies = [event.body for event in chronicle.events]
    contents = await acts.contents(wanted(bodies, chronicle.effects))
    return fold_loop(bodies, record_of(chronicle, contents))
