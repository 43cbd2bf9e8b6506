"""What is recorded so far of a claimed investigation: the chronicle, kept current without reading it again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inquest.domain.effect import EffectKind, EffectRow, EffectState, Receipt, Reservation, try_key
from inquest.domain.event import (
    EVENT_SCHEMA_VERSION,
    GENESIS,
    Event,
    EventBody,
    InterruptAnswered,
    InterruptExpired,
    PlanCommitted,
    RunStarted,
    chain_digest,
)
from inquest.domain.fence import Fence
from inquest.domain.value import Instant
from inquest.errors import InvariantBroken
from inquest.ports import Chronicle


class RecordedSoFar:
    """Events and effect rows of one investigation, as one owner has read and written them.

    The events that this owner adds carry its own clock's `committed_at` until the journal is read again;
    nothing is decided by it.
    """

    def __init__(self, chronicle: Chronicle, fence: Fence) -> None:
        self._fence = fence
        self._chronicle: Chronicle | None = chronicle
        self._events = list(chronicle.events)
        self._rows = {row.key: row for row in chronicle.effects}
        self.version = chronicle.version

    @property
    def chronicle(self) -> Chronicle:
        """Give it all as a value."""
        if self._chronicle is None:
            self._chronicle = Chronicle(
                investigation_id=self._fence.investigation_id,
                version=self.version,
                events=tuple(self._events),
                effects=tuple(sorted(self._rows.values(), key=lambda row: row.key)),
            )
        return self._chronicle

    @property
    def deadline(self) -> Instant:
        """Give the moment after which nothing is reserved. Raises InvariantBroken before run_started."""
        found: list[Instant] = []
        for event in self._events:
            match event.body:
                case (
                    RunStarted(deadline_at=at)
                    | InterruptAnswered(extended_until=at)
                    | InterruptExpired(extended_until=at)
                ):
                    found.append(at)
                case PlanCommitted(plan=plan):
                    found.append(plan.budget.deadline_at)
                case _:
                    pass
        if not found:
            msg = "nothing is done before run_started"
            raise InvariantBroken(msg)
        return max(found)

    @property
    def max_effects(self) -> int:
        """Give the ceiling of connector effects."""
        most = 0
        for event in self._events:
            match event.body:
                case RunStarted(limits=limits):
                    most = limits.max_connector_effects
                case PlanCommitted(plan=plan):
                    most = plan.budget.max_connector_effects
                case _:
                    pass
        return most

    def standing(self, key: str) -> EffectRow | None:
        """Give the newest taking of `key`: itself, or the last try after it was abandoned."""
        row, attempt = self._rows.get(key), 2
        while (later := self._rows.get(try_key(key, attempt))) is not None:
            row, attempt = later, attempt + 1
        return row

    def queries(self) -> Iterable[EffectRow]:
        """Give the rows of queries."""
        return [row for row in self._rows.values() if row.kind is EffectKind.QUERY]

    # ---- changes

    def appended(self, events: Sequence[EventBody], version: int, at: Instant) -> None:
        """Take in what was committed as the events up to `version`."""
        batch_id = f"batch/{self.version + 1}"
        for seq, body in enumerate(events, start=self.version + 1):
            prev = self._events[-1].body_digest if self._events else GENESIS
            self._events.append(
                Event(
                    seq=seq,
                    batch_id=batch_id,
                    generation=self._fence.generation,
                    attempt=self._fence.attempt,
                    schema_version=EVENT_SCHEMA_VERSION,
                    body=body,
                    body_digest=chain_digest(prev, body.canonical()),
                    prev_digest=prev,
                    committed_at=at,
                )
            )
        self.version = version
        self._chronicle = None

    def reserved(self, reservation: Reservation, key: str, *, dispatches: int = 1) -> EffectRow:
        """Take in a reservation of this owner under `key`."""
        row = EffectRow(
            key=key,
            kind=reservation.kind,
            fingerprint=reservation.fingerprint,
            state=EffectState.RESERVED,
            dispatches=dispatches,
            generation=self._fence.generation,
            attempt=self._fence.attempt,
            expected_version=self.version,
            tool_call_id=reservation.tool_call_id,
        )
        self._put(row)
        return row

    def abandoned(self, row: EffectRow) -> None:
        """Take in that `row` was given up for a try."""
        self._put(row.but(state=EffectState.ABANDONED))

    def received(self, receipt: Receipt) -> None:
        """Take in an outcome."""
        row = self._rows.get(receipt.key)
        if row is None:
            msg = f"{receipt.key} was never reserved"
            raise InvariantBroken(msg)
        self._put(
            row.but(
                state=EffectState.COMMITTED,
                outcome_digest=receipt.outcome_digest,
                provider_request_id=receipt.provider_request_id,
                provider_response_id=receipt.provider_response_id,
            )
        )

    def committed(self, receipt: Receipt, reservation: Reservation) -> None:
        """Take in an outcome that the store had and this owner had not read."""
        if receipt.key not in self._rows:
            self.reserved(reservation, receipt.key)
        self.received(receipt)

    def _put(self, row: EffectRow) -> None:
        self._rows[row.key] = row
        self._chronicle = None
