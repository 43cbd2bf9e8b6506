"""What is done to an investigation from outside, in memory: the rules of `migrations/sql/0014_cancel.sql`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from inquest.domain.canonical import digest_of
from inquest.domain.delivery import RevisionKind
from inquest.domain.effect import EffectState
from inquest.domain.event import RunCancelled
from inquest.domain.investigation import TERMINAL, Status
from inquest.errors import WrongStatus
from inquest.ports import Revision
from inquest.store import memory_aggregate
from inquest.store.memory_aggregate import Aggregate
from inquest.store.rules import CLOSED_BY_CANCEL, canonical_body


def cancel(aggregate: Aggregate, cancelled: RunCancelled, now: datetime) -> Mapping[str, bytes] | None:
    """End it where it stands, whoever owns it, and give the contents that it needs; None when it was cancelled before.

    No reserved effect is left under the end. Raises WrongStatus when it has ended otherwise.
    """
    if aggregate.status is Status.CANCELLED:
        return None
    if aggregate.status in TERMINAL:
        raise WrongStatus(f"it has already {aggregate.status}")
    closes = _close_reserved(aggregate)
    aggregate.generation += 1
    memory_aggregate.append(aggregate, [cancelled], [canonical_body(cancelled)], now)
    aggregate.revisions.append(Revision(kind=RevisionKind.CANCELLED, note=cancelled.reason))
    aggregate.not_before = None
    aggregate.close_lease(Status.CANCELLED)
    return {digest_of(outcome): outcome for outcome in CLOSED_BY_CANCEL.values()} if closes else {}


def _close_reserved(aggregate: Aggregate) -> bool:
    """Give each effect without an outcome that of its kind, and say whether there was one."""
    reserved = [row for row in aggregate.effects.values() if row.state is EffectState.RESERVED]
    for row in reserved:
        outcome_digest = digest_of(CLOSED_BY_CANCEL[row.kind])
        aggregate.effects[row.key] = row.but(state=EffectState.COMMITTED, outcome_digest=outcome_digest)
    return bool(reserved)
