"""Rules of the store in memory, and how to switch each off: the judge must notice, or it judges nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from inquest.domain.effect import EffectRow, EffectState, Receipt, Reservation
from inquest.domain.event import InterruptAnswered
from inquest.domain.fence import Fence
from inquest.domain.investigation import TERMINAL, Status
from inquest.errors import FenceLost
from inquest.ports import Fresh, ReserveAnswer
from inquest.store import memory_actions, memory_aggregate, memory_claims, memory_interrupts
from inquest.store.memory import MemoryJournal
from inquest.store.memory_aggregate import Aggregate

Break = Callable[[pytest.MonkeyPatch], None]
_append = memory_aggregate.append
_take = memory_claims.take
_reserve_one = memory_aggregate.reserve_one
_close_lease = Aggregate.close_lease


def _nothing(*_: object, **__: object) -> None:
    """Stands for a check that is not made."""


def _fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Aggregate, "check_fence", _nothing)


def _generation(patch: pytest.MonkeyPatch) -> None:
    def any_generation(self: Aggregate, fence: Fence) -> None:
        if self.status is not Status.RUNNING:
            raise FenceLost(fence.investigation_id)

    patch.setattr(Aggregate, "check_fence", any_generation)


def _version(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Aggregate, "check_version", _nothing)


def _transaction(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Aggregate, "draft", lambda self: self)


def _terminal(patch: pytest.MonkeyPatch) -> None:
    def goes_on(self: Aggregate, status: Status) -> None:
        if status not in TERMINAL:
            _close_lease(self, status)

    patch.setattr(Aggregate, "close_lease", goes_on)


def _abandoning(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_aggregate, "abandon_reserved", _nothing)


def _receipt(patch: pytest.MonkeyPatch) -> None:
    def takes_any(aggregate: Aggregate, receipt: Receipt) -> None:
        row: EffectRow = aggregate.effects[receipt.key]
        aggregate.effects[row.key] = row.but(state=EffectState.COMMITTED, outcome_digest=receipt.outcome_digest)

    patch.setattr(memory_aggregate, "record", takes_any)


def _lookup(patch: pytest.MonkeyPatch) -> None:
    def never_known(aggregate: Aggregate, version: int, asked: Reservation, now: datetime) -> ReserveAnswer:
        answer = _reserve_one(aggregate, version, asked, now)
        return Fresh() if answer.answer == "known" else answer

    patch.setattr(memory_aggregate, "reserve_one", never_known)


def _dispatches(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_aggregate, "MAX_DISPATCHES", 99)


def _ceilings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_aggregate, "check_ceilings", _nothing)


def _halt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryJournal, "_check_not_halted", _nothing)


def _lease(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_claims, "_expired", lambda aggregate, _now: aggregate.status is Status.RUNNING)


def _take_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_claims, "_expired", lambda _aggregate, _now: False)


def _next_generation(patch: pytest.MonkeyPatch) -> None:
    def same_again(aggregate: Aggregate, *parts: Any, **options: Any) -> object:  # noqa: ANN401  # those of take
        aggregate.generation = max(0, aggregate.generation - 1)
        return _take(aggregate, *parts, **options)

    patch.setattr(memory_claims, "take", same_again)


def _charge(patch: pytest.MonkeyPatch) -> None:
    def uncharged(aggregate: Aggregate, *parts: Any, **options: Any) -> object:  # noqa: ANN401  # those of take
        aggregate.released, aggregate.stage_error = True, False
        return _take(aggregate, *parts, **options)

    patch.setattr(memory_claims, "take", uncharged)


def _gap(patch: pytest.MonkeyPatch) -> None:
    def skipping(aggregate: Aggregate, *parts: Any) -> None:  # noqa: ANN401  # those of append
        aggregate.version += aggregate.version == 3  # once, somewhere
        _append(aggregate, *parts)

    patch.setattr(memory_aggregate, "append", skipping)


def _cancel_closes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_actions, "_close_reserved", lambda _aggregate: False)


def _cancel_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_actions, "TERMINAL", frozenset[Status]())


def _one_answer(patch: pytest.MonkeyPatch) -> None:
    def any_answer(aggregate: Aggregate, interrupt_id: str, text: str, actor: str, now: datetime) -> None:
        if any(asked.interrupt_id == interrupt_id for asked in aggregate.interrupts):
            body = InterruptAnswered(interrupt_id=interrupt_id, answer=text, actor=actor, extended_until=now)
            memory_interrupts._go_on(aggregate, body, "", now)

    patch.setattr(memory_interrupts, "answer", any_answer)


BREAKS: dict[str, Break] = {
    "a stale fence is refused": _fence,
    "a stale generation is refused": _generation,
    "a write goes to the version that it expects": _version,
    "a refused write leaves nothing": _transaction,
    "an end closes the lease": _terminal,
    "an end leaves nothing runnable": _abandoning,
    "a receipt is kept as it was": _receipt,
    "what is committed is answered from its receipt": _lookup,
    "the third dispatch is the last": _dispatches,
    "ceilings are kept": _ceilings,
    "nothing is reserved while halted": _halt,
    "a live lease is busy": _lease,
    "an expired lease is taken over": _take_over,
    "a claim is the next generation": _next_generation,
    "an attempt that got nowhere is charged": _charge,
    "versions have no gap": _gap,
    "a cancel closes what was reserved": _cancel_closes,
    "what has ended is not cancelled": _cancel_once,
    "a question has one answer": _one_answer,
}
