"""Which crash point stands before a transaction of an owner, and which behind it: by what it writes."""

from __future__ import annotations

from collections.abc import Sequence

from inquest.crash import CrashPoint
from inquest.domain.event import (
    BatchJoined,
    EventBody,
    PlanCommitted,
    RunFailed,
    RunSucceeded,
    StageCommitted,
    TurnCommitted,
)
from inquest.domain.investigation import EvidenceGathered


def before(events: Sequence[EventBody]) -> CrashPoint | None:
    """Give the point before the commit of `events`."""
    match events:
        case [*_, RunSucceeded() | RunFailed()]:
            return CrashPoint.C16
        case [*_, StageCommitted() | PlanCommitted()]:
            return CrashPoint.C07
        case _:
            return None


def behind(events: Sequence[EventBody]) -> CrashPoint | None:
    """Give the point right after the commit of `events`."""
    match events:
        case [*_, RunSucceeded() | RunFailed()]:
            return CrashPoint.C17
        case [StageCommitted(update=EvidenceGathered())]:
            return CrashPoint.C14
        case [BatchJoined(), *_]:
            return CrashPoint.C13
        case _:
            planned = any(isinstance(event, TurnCommitted) and event.calls for event in events)
            return CrashPoint.C10 if planned else None
