"""One investigation in memory: the rules that `migrations/sql` has for Postgres, in the same order.

Every function here changes a draft; the journal keeps the draft only when nothing was refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from inquest.domain.budget import MAX_DISPATCHES, MAX_OTHER_MODEL_TURNS, Spend
from inquest.domain.effect import EffectKind, EffectRow, EffectState, Receipt, Reservation
from inquest.domain.event import (
    EVENT_SCHEMA_VERSION,
    GENESIS,
    Event,
    EventBody,
    InterruptRaised,
    PlanCommitted,
    RunCancelled,
    RunStarted,
    chain_digest,
)
from inquest.domain.fence import Fence
from inquest.domain.investigation import Identity, Status
from inquest.errors import (
    BudgetExhausted,
    FenceLost,
    FingerprintMismatch,
    IdentityMismatch,
    InvariantBroken,
    VersionConflict,
)
from inquest.ports import Again, Fresh, Known, Moved, ReserveAnswer, Revision, Spent
from inquest.store.lease import Opening
from inquest.store.rules import Marks, base_key, is_loop_turn, next_try, reservations_by_key, try_number


@dataclass
class Aggregate:
    """The row of `investigation` with its events, effects and references."""

    workspace: str
    opening: Opening
    created_at: datetime
    status: Status
    not_before: datetime | None
    owner_id: str | None = None
    generation: int = 0
    attempt: int = 1
    lease_expires_at: datetime | None = None
    version: int = 0
    claimed_version: int = 0
    released: bool = True
    stage_error: bool = False
    stalls: int = 0
    marks: Marks = field(default_factory=Marks)
    started_at: datetime | None = None
    spend: Spend = field(default_factory=Spend)
    events: list[Event] = field(default_factory=list)
    effects: dict[str, EffectRow] = field(default_factory=dict)
    references: set[str] = field(default_factory=set)
    revisions: list[Revision] = field(default_factory=list)
    interrupts: list[InterruptRaised] = field(default_factory=list)

    @property
    def identity(self) -> Identity:
        """Give the identity that every claim and `run_started` carry."""
        opening = self.opening
        return Identity(
            workspace_id=self.workspace,
            task_id=opening.episode_id,
            run_id=opening.investigation_id,
            session_id=opening.session_id,
            workflow_id=opening.workflow,
        )

    def draft(self) -> Aggregate:
        """Give a copy whose changes do not show here: a transaction that may yet be refused."""
        return replace(
            self,
            events=list(self.events),
            effects=dict(self.effects),
            references=set(self.references),
            revisions=list(self.revisions),
            interrupts=list(self.interrupts),
        )

    def check_fence(self, fence: Fence) -> None:
        """Raise FenceLost unless `fence` is the right to act now."""
        mine = (self.owner_id, self.generation, self.attempt)
        if self.status is not Status.RUNNING or mine != (fence.owner_id, fence.generation, fence.attempt):
            raise FenceLost(f"{fence.investigation_id} is no longer owned by generation {fence.generation}")

    def check_version(self, expected: int) -> None:
        """Raise VersionConflict unless the last event is `expected`."""
        if self.version != expected:
            raise VersionConflict(f"version {expected} was expected, the aggregate is at {self.version}")

    def close_lease(self, status: Status) -> None:
        """End the right to act and go to `status`, without a charge."""
        self.status, self.owner_id, self.lease_expires_at, self.released = status, None, None, True


def append(aggregate: Aggregate, events: Sequence[EventBody], bodies: Iterable[bytes], now: datetime) -> None:
    """Chain `events` to the journal as one batch."""
    batch_id = f"batch/{aggregate.version + 1}"
    _check_identity(aggregate, events)
    for event, body in zip(events, bodies, strict=True):
        _check_place(aggregate, event)
        prev = aggregate.events[-1].body_digest if aggregate.events else GENESIS
        aggregate.version += 1
        aggregate.events.append(
            Event(
                seq=aggregate.version,
                batch_id=batch_id,
                generation=aggregate.generation,
                attempt=aggregate.attempt,
                schema_version=EVENT_SCHEMA_VERSION,
                body=event,
                body_digest=chain_digest(prev, body),
                prev_digest=prev,
                committed_at=now,
            )
        )
        if isinstance(event, InterruptRaised):
            aggregate.interrupts.append(event)


def _check_identity(aggregate: Aggregate, events: Sequence[EventBody]) -> None:
    """Refuse another identity before anything else is looked at, as `commit_write` does."""
    for event in [event for event in events if isinstance(event, RunStarted)][-1:]:
        if event.identity != aggregate.identity:
            raise IdentityMismatch("the identity of run_started is not that of the investigation")


def _check_place(aggregate: Aggregate, event: EventBody) -> None:
    first = not aggregate.events
    if first and not isinstance(event, RunStarted | RunCancelled):
        raise InvariantBroken(f"{event.kind} cannot be the first event")
    if isinstance(event, RunStarted) and not first:
        raise InvariantBroken("run_started is the first event only")
    planned = any(isinstance(earlier.body, PlanCommitted) for earlier in aggregate.events)
    if isinstance(event, PlanCommitted) and planned:
        raise InvariantBroken("a plan is committed once")


def set_marks(aggregate: Aggregate, marks: Marks) -> None:
    """Set what the events of a write set."""
    aggregate.marks = aggregate.marks.but(**marks.model_dump(exclude_none=True))


def record(aggregate: Aggregate, receipt: Receipt) -> None:
    """Close the reservation of `receipt`; the same receipt again changes nothing."""
    row = aggregate.effects.get(receipt.key)
    if row is None:
        raise InvariantBroken(f"{receipt.key} was never reserved")
    if row.fingerprint != receipt.fingerprint:
        raise FingerprintMismatch(f"{receipt.key} holds another request")
    if row.state is EffectState.COMMITTED and row.outcome_digest == receipt.outcome_digest:
        return
    if row.state is not EffectState.RESERVED:
        raise InvariantBroken(f"{receipt.key} is {row.state} and takes no outcome")
    aggregate.effects[row.key] = row.but(
        state=EffectState.COMMITTED,
        outcome_digest=receipt.outcome_digest,
        provider_request_id=receipt.provider_request_id,
        provider_response_id=receipt.provider_response_id,
    )


def reserve_all(aggregate: Aggregate, reservations: Iterable[Reservation], now: datetime) -> None:
    """Reserve new keys for the present owner, all or none."""
    fresh = reservations_by_key(reservations)
    for reservation in fresh:
        row = _latest(aggregate, reservation.key)
        if row is not None and row.fingerprint != reservation.fingerprint:
            raise FingerprintMismatch(f"{row.key} holds another request")
        if row is not None:
            raise InvariantBroken(f"{row.key} is already {row.state}")
    check_ceilings(aggregate, fresh, now)
    for reservation in fresh:
        _insert(aggregate, reservation, reservation.key)


def reserve_one(aggregate: Aggregate, expected_version: int, reservation: Reservation, now: datetime) -> ReserveAnswer:
    """Reserve one key, or take over what a dead owner reserved (`ports.Effects.reserve`)."""
    row = _latest(aggregate, reservation.key)
    if row is None:
        aggregate.check_version(expected_version)
        check_ceilings(aggregate, [reservation], now)
        _insert(aggregate, reservation, reservation.key)
        return Fresh()
    same, mine = row.fingerprint == reservation.fingerprint, row.generation == aggregate.generation
    if row.state is EffectState.COMMITTED and same:
        return Known(receipt=_receipt(row))
    if not same and (row.state is EffectState.COMMITTED or mine):
        raise FingerprintMismatch(f"{row.key} holds another request")
    if not same:
        return _move(aggregate, row, reservation, now)
    if mine:
        return Fresh() if row.key == reservation.key else Moved(key=row.key)
    if row.dispatches >= MAX_DISPATCHES:
        return Spent()
    check_ceilings(aggregate, [reservation], now, again=True)
    aggregate.effects[row.key] = row.but(
        generation=aggregate.generation,
        attempt=aggregate.attempt,
        expected_version=aggregate.version,
        dispatches=row.dispatches + 1,
    )
    return Again(dispatches=row.dispatches + 1)


def _move(aggregate: Aggregate, row: EffectRow, reservation: Reservation, now: datetime) -> Moved:
    aggregate.effects[row.key] = row.but(state=EffectState.ABANDONED)
    check_ceilings(aggregate, [reservation], now)
    key = next_try(row.key)
    _insert(aggregate, reservation, key)
    return Moved(key=key)


def check_ceilings(aggregate: Aggregate, more: list[Reservation], now: datetime, *, again: bool = False) -> None:
    """Refuse reservations past the deadline or over a ceiling. `again`: a turn taken over is no new turn."""
    limits = aggregate.marks
    turns, effects, deadline = limits.max_model_turns, limits.max_connector_effects, limits.deadline_at
    if turns is None or effects is None or deadline is None or aggregate.started_at is None:
        raise InvariantBroken("nothing is reserved before run_started")
    if not more:
        return
    if now >= deadline:
        started = aggregate.started_at
        used, allowed = (now - started).total_seconds(), (deadline - started).total_seconds()
        raise BudgetExhausted("deadline_at", used=used, allowed=allowed)
    rows = aggregate.effects.values()
    live = [row.key for row in rows if row.kind is EffectKind.MODEL and row.state is not EffectState.ABANDONED]
    asked = [] if again else [one.key for one in more if one.kind is EffectKind.MODEL]
    loop, new_loop = sum(map(is_loop_turn, live)), sum(map(is_loop_turn, asked))
    _check_ceiling("max_model_turns", loop, new_loop, turns)
    _check_ceiling("max_other_model_turns", len(live) - loop, len(asked) - new_loop, MAX_OTHER_MODEL_TURNS)
    dispatched = sum(row.dispatches for row in rows if row.kind is EffectKind.QUERY)
    queries = sum(one.kind is EffectKind.QUERY for one in more)
    _check_ceiling("max_connector_effects", dispatched, queries, effects)


def _check_ceiling(ceiling: str, used: int, more: int, allowed: int) -> None:
    if more and used + more > allowed:
        raise BudgetExhausted(ceiling, used=used, allowed=allowed)


def abandon_reserved(aggregate: Aggregate) -> None:
    """Leave nothing runnable under a terminal event."""
    for key, row in aggregate.effects.items():
        if row.state is EffectState.RESERVED:
            aggregate.effects[key] = row.but(state=EffectState.ABANDONED)


def uncount_cut(aggregate: Aggregate) -> None:
    """Take back the dispatches that this owner made and a drain cut: they have no outcome and are not counted."""
    for key, row in aggregate.effects.items():
        if row.state is EffectState.RESERVED and row.generation == aggregate.generation:
            aggregate.effects[key] = row.but(dispatches=row.dispatches - 1)


def _latest(aggregate: Aggregate, key: str) -> EffectRow | None:
    base = base_key(key)
    takings = [row for row in aggregate.effects.values() if base_key(row.key) == base]
    return max(takings, key=lambda row: try_number(row.key), default=None)


def _insert(aggregate: Aggregate, reservation: Reservation, key: str) -> None:
    aggregate.effects[key] = EffectRow(
        key=key,
        kind=reservation.kind,
        fingerprint=reservation.fingerprint,
        state=EffectState.RESERVED,
        dispatches=1,
        generation=aggregate.generation,
        attempt=aggregate.attempt,
        expected_version=aggregate.version,
        tool_call_id=reservation.tool_call_id,
    )


def _receipt(row: EffectRow) -> Receipt:
    if row.outcome_digest is None:
        raise InvariantBroken(f"{row.key} is committed without an outcome")
    return Receipt(
        key=row.key,
        fingerprint=row.fingerprint,
        outcome_digest=row.outcome_digest,
        provider_request_id=row.provider_request_id,
        provider_response_id=row.provider_response_id,
    )
