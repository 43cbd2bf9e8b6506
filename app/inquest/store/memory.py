"""The journal of one workspace in memory: the same rules and refusals as the Postgres store.

For library hosts and for tests of everything above the store. It lives and dies with its process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from inquest.domain.budget import Spend
from inquest.domain.effect import EffectKind, Receipt, Reservation
from inquest.domain.event import InterruptRaised, RunCancelled
from inquest.domain.fence import Fence
from inquest.domain.investigation import TERMINAL, Status
from inquest.errors import Halted, InvariantBroken, NotFound
from inquest.ports import Chronicle, Clock, ReserveAnswer, Revision, Write
from inquest.store import memory_actions, memory_aggregate, memory_claims, memory_interrupts
from inquest.store.lease import EVENT_VERSIONS, LEASE, WORKFLOW_VERSIONS, Claimed, ClaimLimits, Opening
from inquest.store.memory_aggregate import Aggregate
from inquest.store.rules import ASKED, OPERATOR, check_contents, check_receipt, check_text, checked


class MemoryJournal:
    """`ports.Journal` and `ports.Effects`, and what the Postgres store has beside them: open, claim, release ..

    No method awaits anything, so each is one transaction among the tasks of its event loop.
    """

    def __init__(self, workspace: str, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._aggregates: dict[str, Aggregate] = {}
        self._contents: dict[str, bytes] = {}
        self._halted = False

    # ---- ports.Journal

    async def load(self, investigation_id: str) -> Chronicle:
        """Read events in order and effect rows by key. Raises NotFound."""
        aggregate = self._find(investigation_id)
        effects = tuple(sorted(aggregate.effects.values(), key=lambda row: row.key))
        return Chronicle(
            investigation_id=investigation_id,
            version=aggregate.version,
            events=tuple(aggregate.events),
            effects=effects,
        )

    async def commit(self, write: Write) -> int:
        """Do `write` whole or not at all, and give the new version.

        Raises FenceLost, VersionConflict, FingerprintMismatch, BudgetExhausted, Halted, NotFound, and
        InvariantBroken for what only a bug of ours writes (`store.rules`).
        """
        plan = checked(write)
        draft = self._find(write.fence.investigation_id).draft()
        draft.check_fence(write.fence)
        draft.check_version(write.expected_version)
        if write.reservations:
            self._check_not_halted()
        now = self._clock.now()
        for receipt in sorted(write.receipts, key=lambda receipt: receipt.key):
            memory_aggregate.record(draft, receipt)
        self._refer(draft, write.contents, plan.references)
        memory_aggregate.append(draft, write.events, plan.bodies, now)
        memory_aggregate.set_marks(draft, plan.marks)
        if write.reservations:
            memory_aggregate.reserve_all(draft, write.reservations, now)
        draft.revisions.extend(write.revisions)
        if write.spend is not None:
            draft.spend = write.spend
        if plan.lifecycle is not None:
            draft.close_lease(Status(plan.lifecycle))
            if draft.status in TERMINAL:
                memory_aggregate.abandon_reserved(draft)
        self._keep(draft, write.contents)
        return draft.version

    async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        """Read stored bytes. Raises NotFound naming the first digest that is missing."""
        for digest in digests:
            if digest not in self._contents:
                raise NotFound(f"content {digest}")
        return {digest: self._contents[digest] for digest in digests}

    # ---- ports.Effects

    async def reserve(self, fence: Fence, expected_version: int, reservation: Reservation) -> ReserveAnswer:
        """Reserve one key, or take over what a dead owner reserved.

        A key that this owner itself reserved (with a batch, or before an answer got lost) is Fresh; one that it
        itself moved is Moved again.
        Raises FenceLost, VersionConflict (for a key never seen), FingerprintMismatch, BudgetExhausted, Halted.
        """
        check_text("tool_call_id", reservation.tool_call_id)
        draft = self._find(fence.investigation_id).draft()
        draft.check_fence(fence)
        answer = memory_aggregate.reserve_one(draft, expected_version, reservation, self._clock.now())
        if answer.answer in ("fresh", "again", "moved"):
            self._check_not_halted()
        self._keep(draft, {})
        return answer

    async def receive(self, fence: Fence, receipt: Receipt, contents: Mapping[str, bytes]) -> None:
        """Record one outcome; the same receipt again changes nothing. Raises FenceLost, FingerprintMismatch."""
        check_contents(contents)
        check_receipt(receipt)
        draft = self._find(fence.investigation_id).draft()
        draft.check_fence(fence)
        memory_aggregate.record(draft, receipt)
        self._refer(draft, contents, (receipt.outcome_digest,))
        self._keep(draft, contents)

    # ---- what the Postgres store has too

    async def open(self, opening: Opening) -> None:
        """Create an investigation, queued or deferred. The same id again changes nothing."""
        check_text("title", opening.title)
        check_text("service", opening.service)
        status = Status.QUEUED if opening.not_before is None else Status.DEFERRED
        fresh = Aggregate(self._workspace, opening, self._clock.now(), status, opening.not_before)
        self._aggregates.setdefault(opening.investigation_id, fresh)

    async def claim(
        self,
        owner_id: str,
        *,
        lease: timedelta = LEASE,
        workflow_versions: Sequence[str] = WORKFLOW_VERSIONS,
        event_versions: Sequence[int] = EVENT_VERSIONS,
        limits: ClaimLimits | None = None,
        take_expired: bool = True,
    ) -> Claimed | None:
        """Take the most severe, then oldest, investigation that may run now; None changes nothing.

        As `store.claims.PostgresClaims.claim`, which says the rules.
        """
        if self._halted:
            return None
        if limits is not None and limits.only is not None and self._workspace not in limits.only:
            return None
        limits = limits or ClaimLimits()
        room = limits.by_workspace.get(self._workspace, limits.max_running)
        readable = [
            aggregate
            for aggregate in self._aggregates.values()
            if aggregate.opening.workflow in workflow_versions
            and all(event.schema_version in event_versions for event in aggregate.events)
        ]
        running = sum(aggregate.status is Status.RUNNING for aggregate in self._aggregates.values())
        now = self._clock.now()
        if take_expired:
            running -= memory_claims.put_back_the_dead(readable, now, limits.max_attempts)
        chosen = memory_claims.choose(readable, now, room=room - running, take_expired=take_expired)
        if chosen is None:
            return None
        return memory_claims.take(chosen, owner_id, now, lease=lease, max_attempts=limits.max_attempts)

    async def renew(self, fence: Fence, *, lease: timedelta = LEASE) -> datetime:
        """Lengthen the lease, an expired one that nobody took too; gives its new end. Raises FenceLost."""
        aggregate = self._find(fence.investigation_id)
        aggregate.check_fence(fence)
        aggregate.lease_expires_at = self._clock.now() + lease
        return aggregate.lease_expires_at

    async def release(self, fence: Fence) -> None:
        """Let go without a charge (a drain): queued again; what was cut is not counted. Raises FenceLost."""
        aggregate = self._find(fence.investigation_id)
        aggregate.check_fence(fence)
        memory_aggregate.uncount_cut(aggregate)
        aggregate.close_lease(Status.QUEUED)

    async def release_unanswered(self, fence: Fence, *, max_attempts: int = ClaimLimits().max_attempts) -> None:
        """Let go because the store did not answer, as `store.claims.PostgresClaims` does. Raises FenceLost."""
        aggregate = self._find(fence.investigation_id)
        aggregate.check_fence(fence)
        memory_claims.release_unanswered(aggregate, self._clock.now(), max_attempts)

    async def fail_attempt(self, fence: Fence, *, max_attempts: int = ClaimLimits().max_attempts) -> datetime:
        """End the attempt by a stage error: charged, queued again after a wait; gives its end. Raises FenceLost."""
        aggregate = self._find(fence.investigation_id)
        aggregate.check_fence(fence)
        return memory_claims.charge_stage_error(aggregate, self._clock.now(), max_attempts)

    async def expire(self, investigation_id: str) -> bool:
        """End the lease as if its time had run out; False when nobody holds one. Raises NotFound."""
        aggregate = self._find(investigation_id)
        if aggregate.status is not Status.RUNNING:
            return False
        aggregate.lease_expires_at = self._clock.now()
        return True

    async def cancel(self, investigation_id: str, *, actor: str = OPERATOR) -> bool:
        """End it where it stands, whoever owns it; False when it was cancelled before, and nothing changed.

        As `store.actions.PostgresActions.cancel`. Raises NotFound, and WrongStatus when it has ended otherwise.
        """
        draft = self._find(investigation_id).draft()
        contents = memory_actions.cancel(draft, RunCancelled(reason=ASKED, actor=actor), self._clock.now())
        if contents is None:
            return False
        self._refer(draft, contents, contents)
        self._keep(draft, contents)
        return True

    async def answer(self, investigation_id: str, interrupt_id: str, answer: str, *, actor: str = OPERATOR) -> None:
        """Give a question its one answer, as `store.actions.PostgresActions` does. Raises NotFound, WrongStatus."""
        check_text("the answer of an interrupt", answer)
        draft = self._find(investigation_id).draft()
        memory_interrupts.answer(draft, interrupt_id, answer, actor, self._clock.now())
        self._keep(draft, {})

    async def expire_interrupts(self) -> int:
        """Go on without an answer where nobody gave one in seven days; gives how many."""
        drafts = [aggregate.draft() for aggregate in self._aggregates.values()]
        expired = [draft for draft in drafts if memory_interrupts.expire(draft, self._clock.now())]
        for draft in expired:
            self._keep(draft, {})
        return len(expired)

    async def halt(self) -> None:
        """Let nothing be claimed and nothing be reserved until `resume`."""
        self._halted = True

    async def resume(self) -> None:
        """End the halt."""
        self._halted = False

    # ---- for a host or a test that looks

    def status(self, investigation_id: str) -> Status:
        """Give where it stands. Raises NotFound."""
        return self._find(investigation_id).status

    def spend(self, investigation_id: str) -> Spend:
        """Give the totals of the last write that carried some. Raises NotFound."""
        return self._find(investigation_id).spend

    def revisions(self, investigation_id: str) -> tuple[Revision, ...]:
        """Give the revisions that were planned, in order. Raises NotFound."""
        return tuple(self._find(investigation_id).revisions)

    def interrupts(self, investigation_id: str) -> tuple[InterruptRaised, ...]:
        """Give the questions that were asked, in order. Raises NotFound."""
        return tuple(self._find(investigation_id).interrupts)

    def dispatches(self, investigation_id: str, kind: EffectKind) -> int:
        """Count the dispatches of `kind` that were made and not cut. Raises NotFound."""
        rows = self._find(investigation_id).effects.values()
        return sum(row.dispatches for row in rows if row.kind is kind)

    def _find(self, investigation_id: str) -> Aggregate:
        found = self._aggregates.get(investigation_id)
        if found is None:
            raise NotFound(f"investigation {investigation_id}")
        return found

    def _check_not_halted(self) -> None:
        if self._halted:
            raise Halted(f"workspace {self._workspace} is halted")

    def _refer(self, draft: Aggregate, contents: Mapping[str, bytes], references: Iterable[str]) -> None:
        for digest in references:
            if digest not in contents and digest not in self._contents:
                raise InvariantBroken(f"content {digest} is referred to and not stored")
        draft.references.update(references, contents)

    def _keep(self, draft: Aggregate, contents: Mapping[str, bytes]) -> None:
        self._contents.update(contents)
        self._aggregates[draft.opening.investigation_id] = draft
