"""Who may run next, in memory: the rules of `migrations/sql/0004_queue.sql`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from inquest.domain.event import GenerationAdvanced
from inquest.domain.fence import Fence
from inquest.domain.investigation import Status
from inquest.store import memory_aggregate
from inquest.store.lease import Claimed, backoff, stall_wait
from inquest.store.memory_aggregate import Aggregate
from inquest.store.rules import canonical_body


def put_back_the_dead(aggregates: Iterable[Aggregate], now: datetime, max_attempts: int) -> int:
    """Queue again, after a wait, those whose owner died without having got anywhere; give how many.

    The claim that follows the wait charges the attempt: `released` stays False.
    """
    put_back = 0
    for aggregate in aggregates:
        if _expired(aggregate, now) and aggregate.version == aggregate.claimed_version:
            aggregate.status, aggregate.owner_id, aggregate.lease_expires_at = Status.QUEUED, None, None
            aggregate.not_before = now + backoff(aggregate.attempt, max_attempts)
            put_back += 1
    return put_back


def choose(aggregates: Iterable[Aggregate], now: datetime, *, room: int, take_expired: bool) -> Aggregate | None:
    """Give the most severe, then oldest, that may run: queued and due while there is room, or abandoned."""
    runnable = [
        aggregate
        for aggregate in aggregates
        if (room > 0 and aggregate.status is Status.QUEUED and _due(aggregate, now))
        or (take_expired and _expired(aggregate, now))
    ]
    return min(runnable, key=_order, default=None)


def take(aggregate: Aggregate, owner_id: str, now: datetime, *, lease: timedelta, max_attempts: int) -> Claimed:
    """Make `owner_id` the owner, by the next generation."""
    died_at_once = not aggregate.released and aggregate.version == aggregate.claimed_version
    charged = aggregate.stage_error or died_at_once
    why = "stage_error" if aggregate.stage_error else "released" if aggregate.released else "lease_expired"
    aggregate.generation += 1
    aggregate.attempt += charged
    aggregate.status, aggregate.owner_id, aggregate.lease_expires_at = Status.RUNNING, owner_id, now + lease
    aggregate.released = aggregate.stage_error = False
    aggregate.not_before = None
    aggregate.started_at = aggregate.started_at or now
    if aggregate.version > 0:
        event = GenerationAdvanced(
            owner_id=owner_id, generation=aggregate.generation, attempt=aggregate.attempt, why=why
        )
        memory_aggregate.append(aggregate, [event], [canonical_body(event)], now)
    aggregate.claimed_version = aggregate.version
    fence = Fence(
        investigation_id=aggregate.opening.investigation_id,
        owner_id=owner_id,
        generation=aggregate.generation,
        attempt=aggregate.attempt,
    )
    return Claimed(
        fence=fence,
        identity=aggregate.identity,
        version=aggregate.version,
        exhausted=aggregate.attempt > max_attempts,
        started_at=aggregate.started_at,
        now=now,
        lease_expires_at=now + lease,
    )


def charge_stage_error(aggregate: Aggregate, now: datetime, max_attempts: int) -> datetime:
    """Queue again after a wait, whose end it gives; the next claim charges the attempt."""
    aggregate.close_lease(Status.QUEUED)
    aggregate.stage_error = True
    aggregate.not_before = now + backoff(aggregate.attempt, max_attempts)
    return aggregate.not_before


def release_unanswered(aggregate: Aggregate, now: datetime, max_attempts: int) -> None:
    """Queue again, at once or after a wait; without progress for too long, charged."""
    aggregate.stalls = 0 if aggregate.version > aggregate.claimed_version else aggregate.stalls + 1
    wait = stall_wait(aggregate.stalls)
    if wait is None:
        charge_stage_error(aggregate, now, max_attempts)
    else:
        aggregate.close_lease(Status.QUEUED)
        aggregate.not_before = now + wait if wait else None


def _expired(aggregate: Aggregate, now: datetime) -> bool:
    ends = aggregate.lease_expires_at
    return aggregate.status is Status.RUNNING and ends is not None and ends <= now


def _due(aggregate: Aggregate, now: datetime) -> bool:
    return aggregate.not_before is None or aggregate.not_before <= now


def _order(aggregate: Aggregate) -> tuple[int, datetime]:
    """Between equals `min` takes the first, which was opened first."""
    return -aggregate.opening.severity_rank, aggregate.created_at
