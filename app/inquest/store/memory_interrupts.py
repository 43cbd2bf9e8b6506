"""Questions to a human in memory: the rules that `migrations/sql` has for Postgres, in the same order."""

from __future__ import annotations

from datetime import datetime, timedelta

from inquest.domain.delivery import RevisionKind
from inquest.domain.event import Event, InterruptAnswered, InterruptExpired, InterruptRaised
from inquest.domain.investigation import Status
from inquest.errors import NotFound, WrongStatus
from inquest.ports import Revision
from inquest.store.memory_aggregate import Aggregate, append, set_marks
from inquest.store.rules import ANSWERED_NOTE, EXPIRED_NOTE, INTERRUPT_LIFE, Marks, canonical_body


def answer(aggregate: Aggregate, interrupt_id: str, text: str, actor: str, now: datetime) -> None:
    """Give a question its one answer. Raises NotFound, WrongStatus."""
    asked = _asked(aggregate, interrupt_id)
    closed = _closing(aggregate, interrupt_id)
    if asked is None:
        raise NotFound(f"interrupt {interrupt_id}")
    if closed is not None:
        answered = isinstance(closed, InterruptAnswered)
        raise WrongStatus("it was answered before" if answered else "nobody answered it in time")
    if aggregate.status is not Status.WAITING:
        raise WrongStatus(f"it is {aggregate.status}: it waits for no answer")
    body = InterruptAnswered(interrupt_id=interrupt_id, answer=text, actor=actor, extended_until=_until(asked[1], now))
    _go_on(aggregate, body, ANSWERED_NOTE, now)


def expire(aggregate: Aggregate, now: datetime) -> bool:
    """Go on without an answer where nobody gave one in time; say whether that was so."""
    name = aggregate.interrupts[-1].interrupt_id if aggregate.interrupts else ""
    asked = _asked(aggregate, name)
    if asked is None or _closing(aggregate, name) is not None or aggregate.status is not Status.WAITING:
        return False
    event, raised = asked
    if now < event.committed_at + INTERRUPT_LIFE:
        return False
    _go_on(aggregate, InterruptExpired(interrupt_id=name, extended_until=_until(raised, now)), EXPIRED_NOTE, now)
    return True


def _go_on(aggregate: Aggregate, body: InterruptAnswered | InterruptExpired, note: str, now: datetime) -> None:
    """Append what came of the question, move the fence, and queue: a write from no owner."""
    aggregate.generation += 1
    append(aggregate, (body,), (canonical_body(body),), now)
    set_marks(aggregate, Marks(deadline_at=body.extended_until))
    aggregate.revisions.append(Revision(kind=RevisionKind.PROGRESS, note=note))
    aggregate.status = Status.QUEUED


def _until(raised: InterruptRaised, now: datetime) -> datetime:
    return now + timedelta(seconds=raised.remaining_s)


def _asked(aggregate: Aggregate, name: str) -> tuple[Event, InterruptRaised] | None:
    for event in aggregate.events:
        if isinstance(event.body, InterruptRaised) and event.body.interrupt_id == name:
            return event, event.body
    return None


def _closing(aggregate: Aggregate, name: str) -> InterruptAnswered | InterruptExpired | None:
    for event in aggregate.events:
        if isinstance(event.body, InterruptAnswered | InterruptExpired) and event.body.interrupt_id == name:
            return event.body
    return None
