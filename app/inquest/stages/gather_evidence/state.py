"""The state of the loop: a fold of the journal, never changed in any other way."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from inquest.domain.budget import Spend
from inquest.domain.effect import ModelFailed
from inquest.domain.event import CeilingReached, EpisodeChanged, Evicted, Nudge, Steering, ToolsWithdrawn
from inquest.domain.evidence import Asked, EvidenceItem, Excluded
from inquest.domain.failure import Failure, FailureCode
from inquest.domain.hypothesis import Ledger, LedgerEntry
from inquest.domain.investigation import Investigation, Plan
from inquest.domain.observation import Query
from inquest.domain.planned import CallPlan, Dispatch, PlannedCall
from inquest.domain.transcript import Reply
from inquest.domain.value import Value
from inquest.errors import InvariantBroken
from inquest.stages import fold
from inquest.stages.gather_evidence.record import Record
from inquest.stages.gather_evidence.spending import spend_of_models

SEED_BATCH = "seed"
How = Literal["receipt", "replay", "refusal", "internal", "interrupt"]


class Turn(Value):
    """A committed turn. `outcome` is a ModelFailed when nobody answered; then there are no calls."""

    number: int
    key: str
    outcome: Reply | ModelFailed
    calls: tuple[PlannedCall, ...]
    offered: tuple[str, ...]
    request_digest: str
    request_tokens: int
    unlisted_calls: int = 0

    @property
    def batch(self) -> str:
        """Name its batch of calls."""
        return f"turn/{self.number}"


class Answer(Value):
    """How one planned call was answered.

    `path` is the call's place, under which it is evicted; `key` the receipt that answers it, which is a
    try or another call's where it was moved or replayed. `text` is the answer of an internal tool, a
    refusal's hint or a human's words; `foreign` says that `text` was read from `evidence`.
    `fresh` says that it asked something new and was not refused before anything was sent.
    """

    batch: str
    ordinal: int
    path: str
    call_id: str
    name: str
    arguments: str
    how: How
    key: str
    evidence: tuple[str, ...] = ()
    failure: Failure | None = None
    code: FailureCode | None = None
    text: str = ""
    foreign: bool = False
    next_cursor: str | None = None
    fresh: bool = False


class LoopState(Value):
    """Where the loop stands.

    `open_batch` is the batch whose answers are not joined yet. `offered` is None before the first
    selection. `stagnant` counts stagnant turns in a row. `internal_seen` are the identities of internal
    calls so far: like the receipts, they outlive eviction. `changes` are episode changes, each with the
    turn that sees it first.
    """

    investigation: Investigation
    turns: tuple[Turn, ...] = ()
    answers: tuple[Answer, ...] = ()
    open_batch: str | None = None
    evidence: tuple[EvidenceItem, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    asked: tuple[Asked, ...] = ()
    ledger: Ledger = Ledger()
    offered: tuple[str, ...] | None = None
    steering: tuple[Steering, ...] = ()
    changes: tuple[tuple[int, EpisodeChanged], ...] = ()
    stagnant: int = 0
    internal_seen: frozenset[str] = frozenset()
    spend: Spend = Spend()
    guarded_tokens: int = 0
    """Tokens used, with our own upper estimate where the provider gave no usage."""
    dearest_turn_usd_micros: int = 0

    @property
    def plan(self) -> Plan:
        """Give the committed plan. Raises InvariantBroken before it."""
        if self.investigation.plan is None:
            msg = "the loop begins when the plan is committed"
            raise InvariantBroken(msg)
        return self.investigation.plan

    @property
    def deadline(self) -> datetime:
        """Give the moment after which nothing is reserved."""
        return fold.deadline(self.investigation)

    @property
    def next_turn(self) -> int:
        """Number the turn that comes next, from 1."""
        return len(self.turns) + 1

    @property
    def withdrawn(self) -> ToolsWithdrawn | None:
        """Give the event that took the tools away, None while they are on offer."""
        return next((one for one in self.steering if isinstance(one, ToolsWithdrawn)), None)

    @property
    def evicted(self) -> frozenset[str]:
        """Give the paths that are no longer shown."""
        return frozenset(key for one in self.steering if isinstance(one, Evicted) for key in one.keys)

    @property
    def nudges(self) -> tuple[Nudge, ...]:
        """Give all nudges in order."""
        return tuple(one for one in self.steering if isinstance(one, Nudge))

    @property
    def ceilings(self) -> tuple[CeilingReached, ...]:
        """Give the ceilings that were met, in order."""
        return tuple(one for one in self.steering if isinstance(one, CeilingReached))

    def planned(self, batch: str) -> tuple[PlannedCall, ...]:
        """Give the calls of `batch` in planned order."""
        if batch == SEED_BATCH:
            return tuple(
                PlannedCall(ordinal=number, call_id="", name=seed.query.tool, plan=_seed_plan(seed.key, seed.query))
                for number, seed in enumerate(self.plan.seeds, start=1)
            )
        return next(turn.calls for turn in self.turns if turn.batch == batch)

    def batch_size(self, batch: str) -> int:
        """Count the calls of `batch`."""
        return len(self.plan.seeds) if batch == SEED_BATCH else len(self.planned(batch))

    def item(self, name: str) -> EvidenceItem | None:
        """Find evidence by its display name."""
        return next((item for item in self.evidence if item.name == name), None)

    def last_batch(self) -> str:
        """Name the newest batch that has answers, "" before the first."""
        return self.answers[-1].batch if self.answers else ""


def begin(investigation: Investigation, record: Record) -> LoopState:
    """Give the state right after plan_committed."""
    state = LoopState(investigation=investigation)
    plan = state.plan
    return state.but(
        open_batch=SEED_BATCH if plan.seeds else None,
        ledger=Ledger(entries=tuple(LedgerEntry(hypothesis=hypothesis) for hypothesis in plan.hypotheses)),
        spend=spend_of_models(record, "extract/"),
    )


def call_path(batch: str, ordinal: int) -> str:
    """Name the place of a call: seed/2, turn/7/call/3."""
    return f"{SEED_BATCH}/{ordinal}" if batch == SEED_BATCH else f"{batch}/call/{ordinal}"


def _seed_plan(key: str, query: Query) -> CallPlan:
    """Word a seed as a planned call; its fingerprint stands in its reservation."""
    return Dispatch(key=key, fingerprint=query.fingerprint(), query=query)
