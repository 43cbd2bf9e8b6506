"""Taking a key: the reservation, whoever reserved it before, and what it means for who acts now."""

from __future__ import annotations

from typing import assert_never

from inquest.domain.effect import EffectRow, Reservation
from inquest.domain.fence import Fence
from inquest.ports import Again, Effects, Fresh, Known, Moved, Spent
from inquest.runtime.recorded import RecordedSoFar
from inquest.telemetry import Metrics

Taken = EffectRow | Known | Spent
"""Act under this row; or do not: here is the receipt; or do not: it was sent too often."""


async def take(
    reservation: Reservation, fence: Fence, effects: Effects, recorded: RecordedSoFar, metrics: Metrics | None
) -> Taken:
    """Reserve the standing taking of `reservation.key`, or take over what a dead owner reserved.

    Raises FenceLost, VersionConflict, FingerprintMismatch, BudgetExhausted, Halted.
    """
    before = recorded.standing(reservation.key)
    if before is not None:
        reservation = reservation.but(key=before.key)
    answer = await effects.reserve(fence, recorded.version, reservation)
    match answer:
        case Fresh():
            dispatches = before.dispatches if before is not None else 1
            return recorded.reserved(reservation, reservation.key, dispatches=max(dispatches, 1))
        case Again(dispatches=dispatches):
            if metrics is not None:
                metrics.repeated_dispatches.inc()
            return recorded.reserved(reservation, reservation.key, dispatches=dispatches)
        case Moved(key=key):
            if before is not None:
                recorded.abandoned(before)
            if metrics is not None:
                metrics.abandoned_effects.inc()
            return recorded.reserved(reservation.but(key=key), key)
        case Known(receipt=receipt):
            recorded.committed(receipt, reservation)
            return answer
        case Spent():
            return answer
        case unknown:
            assert_never(unknown)
