"""The one door through which a claimed investigation acts: reserve, act, record.

Order of every act: its reservation is committed, then it is sent with no transaction open, then its outcome
is committed alone. A committed key answers from its receipt. What is cut by a cancellation keeps its
reservation and gets no outcome. Nothing is sent once the lease has run out by the monotonic clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import assert_never

from inquest.crash import CrashPoint, reached
from inquest.domain.budget import MAX_CONCURRENT_CALLS, MAX_DISPATCHES, Spend
from inquest.domain.canonical import digest_of
from inquest.domain.effect import EffectKind, EffectRow, EffectState, ModelFailed, Receipt, Reservation
from inquest.domain.event import EventBody
from inquest.domain.failure import FailureCode, failure
from inquest.domain.fingerprint import model_fingerprint, query_fingerprint
from inquest.domain.observation import Query, Recorded
from inquest.domain.transcript import ModelRequest, Reply
from inquest.errors import BudgetExhausted, FenceLost, InvariantBroken
from inquest.ports import (
    Answered,
    Chronicle,
    Clock,
    Effects,
    Journal,
    Known,
    RecordedReading,
    Revision,
    Spent,
    Write,
)
from inquest.runtime import crossing
from inquest.runtime.attempts import Pace, ask_model, read_tool
from inquest.runtime.outcomes import Outcome, closed, outcome_of
from inquest.runtime.recorded import RecordedSoFar
from inquest.runtime.replies import bounded_reply
from inquest.runtime.taking import Taken, take
from inquest.runtime.terms import Terms
from inquest.stages.gather_evidence.record import model_outcome
from inquest.stages.tools import BoundTool

SENT_TOO_OFTEN = f"it was sent {MAX_DISPATCHES} times, and each time its worker ended before it was answered"
UNAVAILABLE = "unavailable"


class ClaimedActs:
    """`ports.Acts` for one claim, over the store's journal and effects. Not to be used after FenceLost."""

    def __init__(self, chronicle: Chronicle, terms: Terms, journal: Journal, effects: Effects) -> None:
        self._terms = terms
        self._journal = journal
        self._effects = effects
        self._recorded = RecordedSoFar(chronicle, terms.fence)
        self._pace = Pace(clock=terms.clock, may_act=terms.may_act, sleep=terms.sleep)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_CALLS)
        self._retries: int | None = None
        self._tallying = asyncio.Lock()

    @property
    def chronicle(self) -> Chronicle:
        """Give what is recorded so far."""
        return self._recorded.chronicle

    @property
    def clock(self) -> Clock:
        """Give the clock of this claim."""
        return self._terms.clock

    # ---- the journal

    async def contents(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        """Read stored bytes, from memory where this claim has seen them. Raises NotFound."""
        found = {digest: held for digest in digests if (held := self._terms.held.get(digest)) is not None}
        missing = [digest for digest in digests if digest not in found]
        if missing:
            read = await self._journal.content(missing)
            self._terms.held.hold(read)
            found.update(read)
        return found

    async def append(
        self,
        *events: EventBody,
        receipts: Sequence[Receipt] = (),
        reservations: Sequence[Reservation] = (),
        contents: Mapping[str, bytes] | None = None,
        revisions: Sequence[Revision] = (),
        spend: Spend | None = None,
    ) -> None:
        """Commit in one transaction at the current version. Raises what `Journal.commit` raises."""
        write = Write(
            fence=self._terms.fence,
            expected_version=self._recorded.version,
            events=tuple(events),
            receipts=tuple(receipts),
            reservations=tuple(reservations),
            contents=dict(contents or {}),
            revisions=tuple(revisions),
            spend=spend,
        )
        reached(crossing.before(events))
        version = await self._journal.commit(write)
        for receipt in receipts:
            self._recorded.received(receipt)
        self._recorded.appended(events, version, self.clock.now())
        for reservation in reservations:
            self._recorded.reserved(reservation, reservation.key)
        self._terms.held.hold(write.contents)
        reached(crossing.behind(events))

    # ---- models

    async def model(
        self,
        key: str,
        request: ModelRequest,
        ask: Callable[[float], Awaitable[Reply]],
        *,
        timeout_s: float,
        most_usd_micros: int = 0,
    ) -> Answered:
        """Reserve `key`, ask, and give the answer, not yet committed; a committed key answers from its receipt.

        Raises FenceLost, BudgetExhausted, Halted, FingerprintMismatch; CancelledError passes and leaves the
        reservation. The model's failures are the outcome ModelFailed.
        """
        reservation = Reservation(
            key=key,
            kind=EffectKind.MODEL,
            fingerprint=model_fingerprint(request),
            timeout_ms=max(int(timeout_s * 1000), 1),
            most_usd_micros=most_usd_micros,
        )
        self._pace.check()
        taken = await self._take(reservation)
        match taken:
            case Known(receipt=receipt):
                stored = await self.contents([receipt.outcome_digest])
                known = model_outcome(stored[receipt.outcome_digest])
                return Answered(outcome=known, receipt=receipt, contents={}, fresh=False)
            case Spent():
                return self._answered(self._standing(key), ModelFailed(kind=UNAVAILABLE, message=SENT_TOO_OFTEN))
            case EffectRow():
                outcome = await ask_model(ask, self._pace, timeout_s=timeout_s)
                reached(CrashPoint.C15 if key.startswith("diagnose/") else CrashPoint.C09)
                scrubbed = bounded_reply(outcome, self._terms.scrub) if isinstance(outcome, Reply) else outcome
                return self._answered(taken, scrubbed)
            case unknown:
                assert_never(unknown)

    async def keep(self, answered: Answered) -> None:
        """Commit the receipt of `answered` alone. Raises FenceLost."""
        if answered.fresh:
            await self._receive(answered.receipt, answered.contents)

    def _answered(self, row: EffectRow, outcome: Reply | ModelFailed) -> Answered:
        stored = outcome.canonical()
        reply = outcome if isinstance(outcome, Reply) else None
        receipt = Receipt(
            key=row.key,
            fingerprint=row.fingerprint,
            outcome_digest=digest_of(stored),
            provider_request_id=reply.provider_request_id if reply else "",
            provider_response_id=reply.provider_response_id if reply else "",
        )
        self._count("model", "ok" if isinstance(outcome, Reply) else outcome.kind)
        return Answered(outcome=outcome, receipt=receipt, contents={receipt.outcome_digest: stored})

    # ---- queries

    async def query(self, key: str, query: Query) -> RecordedReading:
        """Run the reserved query `key`, MAX_CONCURRENT_CALLS at once at most, or give what its receipt holds.

        Raises FenceLost, Halted; CancelledError passes and leaves the reservation. A vendor's failure, a
        tool that is gone, a ceiling and a key that was sent too often are outcomes.
        """
        async with self._slots:
            row = self._standing(key)
            if row.state is EffectState.COMMITTED:
                return await self._from_receipt(row)
            self._pace.check()
            bound = self._terms.tools.get(query.tool)
            if bound is None:
                return await self._close(row, FailureCode.CAPABILITY_DENIED, "this tool is no longer configured")
            return await self._run(row, query, bound)

    async def _run(self, row: EffectRow, query: Query, bound: BoundTool) -> RecordedReading:
        fingerprint = query_fingerprint(query, bound.context)
        if row.generation != self._terms.fence.generation or row.fingerprint != fingerprint:
            taken = await self._take_over(row, query, fingerprint)
            if isinstance(taken, RecordedReading):
                return taken
            row = taken
        await self._tally()
        tried = await read_tool(bound, query, self._pace, seconds_left=self._seconds_left, take_retry=self._take_retry)
        reached(CrashPoint.C12)
        reading = await self._record(row, outcome_of(tried, bound))
        if any(one.state is EffectState.RESERVED for one in self._recorded.queries()):
            reached(CrashPoint.C11)
        return reading

    async def _take_over(self, row: EffectRow, query: Query, fingerprint: str) -> EffectRow | RecordedReading:
        """Take what a dead owner reserved, or what now means another request; or close it."""
        reservation = Reservation(
            key=row.key,
            kind=EffectKind.QUERY,
            fingerprint=fingerprint,
            tool_call_id=row.tool_call_id,
            timeout_ms=query.budget.timeout_ms,
        )
        try:
            taken = await self._take(reservation)
        except BudgetExhausted as refused:
            return await self._close(row, FailureCode.BUDGET_EXHAUSTED, f"{refused.ceiling} is used up")
        match taken:
            case Known():
                return await self._from_receipt(self._standing(row.key))
            case Spent():
                return await self._close(row, FailureCode.PROVIDER_ERROR, SENT_TOO_OFTEN)
            case EffectRow():
                return taken
            case unknown:
                assert_never(unknown)

    async def _close(self, row: EffectRow, code: FailureCode, hint: str) -> RecordedReading:
        """Close a reservation without an act."""
        return await self._record(row, closed(failure(code, hint)))

    async def _record(self, row: EffectRow, outcome: Outcome) -> RecordedReading:
        receipt = Receipt(key=row.key, fingerprint=row.fingerprint, outcome_digest=outcome.digest)
        await self._receive(receipt, {**outcome.contents, outcome.digest: outcome.stored})
        self._count("query", outcome.word)
        return RecordedReading(key=row.key, outcome=outcome.recorded.outcome)

    async def _from_receipt(self, row: EffectRow) -> RecordedReading:
        digest = row.outcome_digest or ""
        stored = await self.contents([digest])
        return RecordedReading(key=row.key, outcome=Recorded.parse(stored[digest]).outcome, repeated=True)

    # ---- what acts share

    async def _take(self, reservation: Reservation) -> Taken:
        terms = self._terms
        taken = await take(reservation, terms.fence, self._effects, self._recorded, terms.metrics)
        self._pace.check()
        return taken

    async def _receive(self, receipt: Receipt, contents: Mapping[str, bytes]) -> None:
        try:
            await self._effects.receive(self._terms.fence, receipt, contents)
        except FenceLost:
            if self._terms.metrics is not None:
                self._terms.metrics.late_outcomes.inc()
            raise
        self._recorded.received(receipt)
        self._terms.held.hold(contents)

    def _standing(self, key: str) -> EffectRow:
        row = self._recorded.standing(key)
        if row is None:
            msg = f"{key} was never reserved"
            raise InvariantBroken(msg)
        return row

    def _seconds_left(self) -> float:
        return (self._recorded.deadline - self.clock.now()).total_seconds()

    async def _tally(self) -> None:
        """Count, once, the tries inside the dispatches that earlier owners recorded.

        Whoever comes while that is read waits: a second count would undo the tries granted since the first.
        """
        async with self._tallying:
            if self._retries is None:
                digests = [row.outcome_digest for row in self._recorded.queries() if row.outcome_digest is not None]
                stored = await self.contents(digests)
                self._retries = sum(max(Recorded.parse(stored[digest]).tries - 1, 0) for digest in digests)

    def _take_retry(self) -> bool:
        """Grant one more try if the ceiling of connector effects allows it, and count it."""
        used = sum(row.dispatches for row in self._recorded.queries()) + (self._retries or 0)
        if used >= self._recorded.max_effects:
            return False
        self._retries = (self._retries or 0) + 1
        return True

    def _count(self, kind: str, outcome: str) -> None:
        if self._terms.metrics is not None:
            self._terms.metrics.effects.labels(kind=kind, outcome=outcome).inc()
