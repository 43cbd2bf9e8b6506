"""The events of the toy investigation. Each is made once: ten thousand schedules write the same few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypedDict

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.event import BatchJoined, EventBody, InterruptRaised, PlanCommitted, RunStarted, TurnCommitted
from inquest.domain.investigation import Identity
from tests.store.builders import interrupt_raised, plan_committed, run_started, turn_committed


@dataclass(frozen=True)
class Plan:
    """What one investigation may do, how many turns it would like, and whether it asks a human."""

    turns: int
    effects: int
    wanted: int
    asks: bool


@cache
def begun(identity: Identity) -> RunStarted:
    return run_started(identity)


@cache
def planned(plan: Plan) -> PlanCommitted:
    return plan_committed(plan.turns, plan.effects)


@cache
def turn_of(turn: int) -> TurnCommitted:
    return turn_committed(turn, f"reply {turn}".encode())


@cache
def joined(batch: str) -> BatchJoined:
    return BatchJoined(batch=batch, results=())


@cache
def question(investigation_id: str) -> InterruptRaised:
    return interrupt_raised(question_of(investigation_id))


def question_of(investigation_id: str) -> str:
    """Name the one question that an investigation may ask."""
    return f"{investigation_id}-question"


@cache
def fingerprint(key: str, release: int) -> str:
    return digest_of(f"{key} as release {release} asks it".encode())


class End(TypedDict):
    projection_digest: str
    signature: None
    spend: Spend


def end_of(bodies: Iterable[EventBody]) -> End:
    """Give what the end of a run that recorded `bodies` holds: replay must come to the same digest."""
    return {"projection_digest": replayed(bodies), "signature": None, "spend": Spend()}


def replayed(bodies: Iterable[EventBody]) -> str:
    """Digest everything that is recorded, in order: the toy's projection."""
    return digest_of(b"\n".join(bytes_of(body) for body in bodies))


MOST_KNOWN = 4_096
_known: dict[int, tuple[EventBody, bytes]] = {}
"""By identity, with the event itself, so that no other can come to lie at its address."""


def bytes_of(body: EventBody) -> bytes:
    found = _known.get(id(body))
    if found is None:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        found = _known[id(body)] = (body, body.canonical())
    return found[1]
