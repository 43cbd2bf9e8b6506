"""Workers as they are: each acts by what it last read, and can die, sleep, or never hear an answer.

The work is a toy investigation: a start with its plan and two seed calls, turns of two calls each, a join after each
batch, perhaps a question, and an end whose digest covers every event before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.effect import EffectKind, EffectState, Receipt, Reservation
from inquest.domain.event import (
    TERMINAL_KINDS,
    BatchJoined,
    EventBody,
    InterruptRaised,
    RunFailed,
    RunSucceeded,
    TurnCommitted,
)
from inquest.domain.fence import Fence
from inquest.errors import BudgetExhausted, FenceLost, Halted, InquestError
from inquest.ports import Again, Chronicle, Fresh, Known, Moved, Spent, Write
from inquest.store.lease import Claimed
from tests.machine import calls, events
from tests.machine.events import Plan

CALLS_IN_BATCH = (1, 2)


@dataclass
class Belief:
    """What an owner takes its investigation to be."""

    version: int
    bodies: list[EventBody]
    rows: dict[str, EffectState]
    mine: set[str] = field(default_factory=set)
    """Keys that it may act under: reserved for this very owner."""

    @classmethod
    def of(cls, chronicle: Chronicle) -> Belief:
        bodies = [event.body for event in chronicle.events]
        return cls(chronicle.version, bodies, {row.key: row.state for row in chronicle.effects})

    def taking(self, key: str) -> str:
        """Give the key of the latest taking of `key`."""
        tries = [row for row in self.rows if row.startswith(f"{key}/try/")]
        return max(tries, key=lambda row: int(row.rpartition("/")[2]), default=key)

    def turns(self) -> int:
        return sum(isinstance(body, TurnCommitted) for body in self.bodies)

    def open_batch(self) -> str | None:
        """Name the batch that was reserved and not joined."""
        batches = ["seed", *(f"turn/{turn}" for turn in range(1, self.turns() + 1))]
        joined = {body.batch for body in self.bodies if isinstance(body, BatchJoined)}
        return next((batch for batch in batches if batch not in joined), None)

    def asked(self) -> bool:
        return any(isinstance(body, InterruptRaised) for body in self.bodies)


def calls_of(batch: str) -> list[str]:
    return [f"seed/{n}" if batch == "seed" else f"{batch}/call/{n}" for n in CALLS_IN_BATCH]


@dataclass
class Owner:
    """One process after another under one number; `life` tells them apart."""

    number: int
    plan: Plan
    life: int = 0
    release: int = 0
    """Another release makes another request of the same call."""
    claimed: Claimed | None = None
    belief: Belief | None = None
    spent: bool = False
    """A ceiling was met: what is left is to end."""
    halted: bool = False

    def die(self, release: int) -> None:
        """Forget everything: the next process begins."""
        self.life, self.release = self.life + 1, release
        self.forget()

    def forget(self) -> None:
        """Stop quietly: the right is gone."""
        self.claimed, self.belief, self.spent, self.halted = None, None, False, False

    @property
    def fence(self) -> Fence | None:
        return self.claimed.fence if self.claimed else None

    # ---- what it asks next

    def next_call(self, which: int) -> calls.Call:
        """Say what this owner asks of the store next; `which` chooses among calls that may go in any order."""
        if self.claimed is None:
            return calls.Claim(f"owner-{self.number}-{self.life}")
        if self.halted:
            return calls.Drain(self.claimed.fence)
        if self.belief is None:
            return calls.Load(self.claimed.fence.investigation_id)
        return _Work(self, self.claimed, self.belief).next_call(which)

    # ---- what it learns

    def hears(self, call: calls.Call, answer: object) -> None:
        """Take the answer to `call` in."""
        match answer:
            case FenceLost():
                self.forget()
            case Halted():
                self.halted = True
            case BudgetExhausted():
                self.spent = True
            case InquestError():
                self.belief = None  # look again
            case Claimed():
                self.claimed = answer
            case Chronicle():
                self.belief = Belief.of(answer)
            case _:
                self._hears_of_its_own(call, answer)

    def _hears_of_its_own(self, call: calls.Call, answer: object) -> None:
        belief = self.belief
        match call:
            case calls.Drain() | calls.Fail() | calls.LetGoUnanswered():
                self.forget()
            case calls.Reserve(reservation=reservation) if belief:
                _granted(belief, reservation.key, answer)
            case calls.Receive(receipt=receipt) if belief:
                belief.rows[receipt.key] = EffectState.COMMITTED
            case calls.Commit(write=write) if belief:
                belief.version += len(write.events)
                belief.bodies += write.events
                belief.rows.update({receipt.key: EffectState.COMMITTED for receipt in write.receipts})
                for reservation in write.reservations:
                    _granted(belief, reservation.key, Fresh())
                if any(body.kind in {*TERMINAL_KINDS, "interrupt_raised"} for body in write.events):
                    self.forget()
            case _:
                pass


def _granted(belief: Belief, key: str, answer: object) -> None:
    taken = belief.taking(key)
    match answer:
        case Moved(key=moved):
            belief.rows[taken] = EffectState.ABANDONED
            belief.rows[moved] = EffectState.RESERVED
            belief.mine.add(moved)
        case Known(receipt=receipt):
            belief.rows[receipt.key] = EffectState.COMMITTED
        case Fresh() | Again() | Spent():
            belief.rows[taken] = EffectState.RESERVED
            belief.mine.add(taken)
        case _:
            raise AssertionError(answer)


@dataclass(frozen=True)
class _Work:
    """The next write of an owner that has read its investigation."""

    owner: Owner
    claimed: Claimed
    belief: Belief

    def next_call(self, which: int) -> calls.Call:
        belief, plan = self.belief, self.owner.plan
        if not belief.bodies:
            return self._start()
        if self.claimed.exhausted:
            return self._write(RunFailed(reason="attempts", **events.end_of(belief.bodies)))
        batch = belief.open_batch()
        if batch is None and plan.asks and not belief.asked() and not self.owner.spent:
            return self._write(events.question(self._fence.investigation_id))
        if self.owner.spent or (batch is None and belief.turns() >= plan.wanted):
            return self._write(RunSucceeded(stop_reason="concluded", **events.end_of(belief.bodies)))
        if batch is None:
            return self._turn(belief.turns() + 1)
        left = [key for key in calls_of(batch) if belief.rows.get(belief.taking(key)) is not EffectState.COMMITTED]
        return self._query(left[which % len(left)]) if left else self._write(events.joined(batch))

    @property
    def _fence(self) -> Fence:
        return self.claimed.fence

    def _start(self) -> calls.Call:
        begun = events.begun(self.claimed.identity)
        if self.claimed.exhausted:
            return self._write(begun, RunFailed(reason="attempts", **events.end_of([begun])))
        return self._write(begun, events.planned(self.owner.plan), reservations=self._batch("seed"))

    def _turn(self, turn: int) -> calls.Call:
        key = self.belief.taking(f"turn/{turn}")
        known = self.belief.rows.get(key) is EffectState.COMMITTED
        if not known and key not in self.belief.mine:
            return self._reserve(f"turn/{turn}", EffectKind.MODEL)
        reply = f"reply {turn}".encode()
        return self._write(
            events.turn_of(turn),
            receipts=() if known else (self._receipt(key, reply),),
            reservations=self._batch(f"turn/{turn}"),
            contents={digest_of(reply): reply},
            spend=Spend(model_turns=turn, connector_effects=len(CALLS_IN_BATCH) * turn),
        )

    def _query(self, base: str) -> calls.Call:
        key = self.belief.taking(base)
        if key not in self.belief.mine:
            return self._reserve(base, EffectKind.QUERY)
        answer = f"answer to {base}".encode()
        return calls.Receive(self._fence, self._receipt(key, answer), answer)

    def _reserve(self, key: str, kind: EffectKind) -> calls.Call:
        return calls.Reserve(self._fence, self.belief.version, self._request(key, kind))

    def _batch(self, batch: str) -> tuple[Reservation, ...]:
        return tuple(self._request(key, EffectKind.QUERY) for key in calls_of(batch))

    def _request(self, key: str, kind: EffectKind) -> Reservation:
        return Reservation(key=key, kind=kind, fingerprint=events.fingerprint(key, self.owner.release))

    def _receipt(self, key: str, content: bytes) -> Receipt:
        asked = events.fingerprint(key.partition("/try/")[0], self.owner.release)
        return Receipt(key=key, fingerprint=asked, outcome_digest=digest_of(content))

    def _write(self, *bodies: EventBody, **parts: object) -> calls.Call:
        write = Write.model_validate(
            {"fence": self._fence, "expected_version": self.belief.version, "events": bodies, **parts}
        )
        return calls.Commit(self._fence, write)
