"""Stage 4, the thin shell: it does what `loop.next_step` decides, records it, and folds what was recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, assert_never

from inquest.domain.budget import MODEL_TURN_TIMEOUT_S
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.event import (
    BatchJoined,
    EventBody,
    Evicted,
    LoopSteered,
    SelectionChanged,
    StageCommitted,
    Steering,
    ToolsWithdrawn,
    TurnCommitted,
)
from inquest.domain.investigation import EvidenceGathered, Gathered, Investigation
from inquest.domain.planned import ByReceipt, PlannedCall
from inquest.domain.transcript import Reply
from inquest.errors import BudgetExhausted, Halted, InvariantBroken, WaitsForAnswer
from inquest.ports import Acts, Answered, Revision
from inquest.stages.gather_evidence.asking import Question
from inquest.stages.gather_evidence.batch import ToAsk, answer_batch
from inquest.stages.gather_evidence.calls import Offer, plan_calls, reservations, unlisted, without_effects
from inquest.stages.gather_evidence.internal_tools import offered_by_us
from inquest.stages.gather_evidence.kit import GatherKit
from inquest.stages.gather_evidence.limits import schema_tokens
from inquest.stages.gather_evidence.loop import Ask, Conclude, RunBatch, Select, Steer, absorb, concluded, next_step
from inquest.stages.gather_evidence.rebuild import load, record_of
from inquest.stages.gather_evidence.record import wanted
from inquest.stages.gather_evidence.selection import select, swap_in
from inquest.stages.gather_evidence.state import LoopState
from inquest.stages.gather_evidence.stopping import as_ceiling, concluding_reserve, spending_ceiling, withdrawal
from inquest.stages.gather_evidence.view import ParsedContents, has_decisive, held_digests
from inquest.stages.kit import Stage
from inquest.stages.present import fit_to_ask
from inquest.stages.questions import raised, revision_of

LEAST_TIMEOUT_S = 1.0


def bind(kit: GatherKit, acts: Acts, *, leave: Callable[[LoopState], None] = lambda _: None) -> Stage:
    """Give stage 4 as a function of the state. It resumes from whatever the journal holds.

    `leave` is given the state of the loop as it will be once the stage is committed: what the journal folds to then.
    Raises FenceLost, Halted, StoreUnavailable from the store, WaitsForAnswer when a human was asked, ReplayMismatch
    for a journal that cannot be folded; CancelledError passes, and what it cut keeps its reservation.
    """

    async def gather_evidence(state: Investigation) -> EvidenceGathered:
        if state.plan is None:
            msg = "gather_evidence runs after plan_actions"
            raise InvariantBroken(msg)
        loop = _Loop(kit, acts, await load(acts))
        update = EvidenceGathered(gathered=await loop.run())
        leave(loop.after(StageCommitted(update=update)))
        return update

    return gather_evidence


@dataclass(frozen=True)
class _Entry:
    """What one transaction writes."""

    events: tuple[EventBody, ...]
    receipts: Sequence[Receipt] = ()
    reservations: Sequence[Reservation] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)
    revisions: Sequence[Revision] = ()


class _Loop:
    """One run of the loop by one owner."""

    def __init__(self, kit: GatherKit, acts: Acts, state: LoopState) -> None:
        self._kit = kit
        self._acts = acts
        self._state = state
        self._looked_before_turn = 0

    async def run(self) -> Gathered:
        """Do step after step until the rules conclude."""
        while True:
            step = next_step(self._state, self._acts.clock.now(), decisive=await self._is_decisive())
            match step:
                case RunBatch():
                    await self._run_batch(step)
                case Select():
                    await self._steer(self._first_offer())
                case Steer(steerings=steerings):
                    await self._steer(*steerings)
                case Ask():
                    ended = await self._next_turn(step)
                    if ended is not None:
                        return ended
                case Conclude(gathered=gathered):
                    return gathered
                case unknown:
                    assert_never(unknown)

    def after(self, committed: StageCommitted) -> LoopState:
        """Give the state once this is recorded, too."""
        return absorb(self._state, committed, record_of(self._acts.chronicle, {}))

    # ---- recording

    async def _write(self, entry: _Entry) -> None:
        """Commit `entry` with the spend that it leads to, and go on from what it makes of the state."""
        chronicle = self._acts.chronicle
        keys = {
            joined.key
            for event in entry.events
            if isinstance(event, BatchJoined)
            for joined in event.results
            if isinstance(joined, ByReceipt)
        }
        digests = wanted(entry.events, (row for row in chronicle.effects if row.key in keys))
        stored = await self._acts.contents([digest for digest in digests if digest not in entry.contents])
        record = record_of(chronicle, {**stored, **entry.contents})
        state = self._state
        for event in entry.events:
            state = absorb(state, event, record)
        await self._acts.append(
            *entry.events,
            receipts=entry.receipts,
            reservations=entry.reservations,
            contents=entry.contents,
            revisions=entry.revisions,
            spend=state.spend,
        )
        self._state = state

    async def _steer(self, *steerings: Steering) -> None:
        await self._write(_Entry(events=tuple(LoopSteered(steering=steering) for steering in steerings)))

    # ---- the steps

    def _first_offer(self) -> SelectionChanged:
        state, facts = self._state, self._state.investigation.facts
        about = "" if facts is None else f"{facts.alert_name} {facts.error_message} {facts.service} {facts.expression}"
        offered = select(
            fit_to_ask(self._kit.frame.tools, state.investigation),
            offered_by_us(state.investigation.limits),
            planned=[tool.name for tool in state.plan.tools],
            about=about,
            most_tokens=schema_tokens(state.investigation.limits),
        )
        return SelectionChanged(turn=state.next_turn, offered=offered, why="the plan first, then relevance")

    def _swapped(self, found: tuple[str, ...]) -> list[SelectionChanged]:
        """Give the offer with `found` in it, unless it is the one that stands."""
        state = self._state
        limits, known = state.investigation.limits, self._kit.frame.tools
        offered = swap_in(state.offered or (), found, known, offered_by_us(limits), most_tokens=schema_tokens(limits))
        if offered == state.offered:
            return []
        return [SelectionChanged(turn=state.next_turn, offered=offered, why="search_tools brought tools in")]

    async def _run_batch(self, step: RunBatch) -> None:
        """Answer the batch and join it, in planned order, whatever order the answers came in."""
        tools = fit_to_ask(self._kit.frame.tools, self._state.investigation)
        answers = await answer_batch(step, self._state, self._acts, tools)
        events: list[EventBody] = [BatchJoined(batch=step.batch, results=answers.joined)]
        if answers.found:
            events.extend(LoopSteered(steering=selection) for selection in self._swapped(answers.found))
        if answers.question is not None:
            await self._ask_human(events, answers.contents, answers.question)
        await self._write(_Entry(events=tuple(events), contents=answers.contents))

    async def _ask_human(self, joined: list[EventBody], contents: Mapping[str, bytes], asked: ToAsk) -> NoReturn:
        """Commit the join, the question, its revision and the end of the lease at once, and let go."""
        now = self._acts.clock.now()
        question = raised(self._state.investigation, asked.prompt, call_key=asked.call_key, now=now)
        events = (*joined, question)
        await self._write(_Entry(events=events, contents=contents, revisions=(revision_of(question),)))
        raise WaitsForAnswer(question.interrupt_id)

    async def _next_turn(self, step: Ask) -> Gathered | None:
        """Ask the next turn, or record what has to be recorded before it can be asked. Gives the end, if this is it."""
        if await self._episode_changed(step.turn):
            return None
        state = self._state
        held = await self._held()
        # In a thread: counting tokens takes a while, and the worker's other investigations go on meanwhile.
        question, evicted = await asyncio.to_thread(_fitted, self._kit, state, held)
        if evicted:
            await self._steer(Evicted(turn=step.turn, keys=evicted))
            return None
        reached = spending_ceiling(state, question.first.tokens, self._kit.price)
        if reached is not None and step.last:
            return concluded(state, reached.ceiling, hit=reached.ceiling)
        if reached is not None:
            await self._steer(*withdrawal(state, reached))
            return None
        return await self._ask(step, question)

    async def _ask(self, step: Ask, question: Question) -> Gathered | None:
        try:
            answered = await self._acts.model(
                step.key,
                question.first.request,
                question.ask,
                timeout_s=self._turn_timeout_s(),
                most_usd_micros=question.most_usd_micros,
            )
        except BudgetExhausted as refused:
            reached = as_ceiling(refused, step.turn)
            await self._steer(reached)
            return concluded(self._state, reached.ceiling)
        await self._commit_turn(step, question, answered)
        return None

    async def _commit_turn(self, step: Ask, question: Question, answered: Answered) -> None:
        """Commit receipt, turn and reservations at once; where the store allows no effects, without them."""
        reply = answered.outcome if isinstance(answered.outcome, Reply) else None
        sent = question.sent
        offered = tuple(tool.name for tool in sent.view.tools)
        planned: tuple[PlannedCall, ...] = ()
        if reply is not None:
            planned = plan_calls(self._state, reply, Offer(tools=self._kit.tools, offered=offered))
        turn = TurnCommitted(
            turn=step.turn,
            key=answered.receipt.key,
            request_digest=sent.request.canonical_digest(),
            reply=answered.receipt.outcome_digest,
            calls=planned,
            offered=offered,
            request_tokens=sent.tokens,
            unlisted_calls=0 if reply is None else unlisted(reply),
            provider_request_id=answered.receipt.provider_request_id,
            provider_response_id=answered.receipt.provider_response_id,
        )
        shrunk = [LoopSteered(steering=Evicted(turn=step.turn, keys=sent.evicted))] if sent.evicted else []
        receipts = (answered.receipt,) if answered.fresh else ()
        try:
            await self._write(
                _Entry(
                    events=(*shrunk, turn),
                    receipts=receipts,
                    reservations=reservations(planned),
                    contents=answered.contents,
                )
            )
        except Halted:  # its calls may not be reserved: what was paid for is kept, and is not asked again
            await self._acts.keep(answered)
            raise
        except BudgetExhausted as refused:
            reached = as_ceiling(refused, step.turn + 1)
            after = [
                LoopSteered(steering=reached),
                LoopSteered(steering=ToolsWithdrawn(turn=step.turn + 1, why=reached.ceiling)),
            ]
            refusing = turn.but(calls=without_effects(planned, "no calls are left: conclude from what there is"))
            await self._write(_Entry(events=(*shrunk, refusing, *after), receipts=receipts, contents=answered.contents))

    # ---- what the steps look at

    async def _episode_changed(self, turn: int) -> bool:
        """Record, once before each turn, what joined or resolved since the journal last said."""
        if self._looked_before_turn == turn:
            return False
        self._looked_before_turn = turn
        change = await self._kit.episode_changes()
        if change is None:
            return False
        await self._write(_Entry(events=(change,)))
        return True

    async def _held(self) -> Mapping[str, bytes]:
        return await self._acts.contents(held_digests(self._state))

    async def _is_decisive(self) -> bool:
        """Look only when a conclusion is to be judged: that is when a turn has made no calls."""
        turns = self._state.turns
        concluding = bool(turns) and not turns[-1].calls and self._state.open_batch is None
        return concluding and has_decisive(self._state, ParsedContents(await self._held()))

    def _turn_timeout_s(self) -> float:
        """Give what all attempts of a turn may take: half the concluding reserve stays for diagnose."""
        left = self._state.deadline - self._acts.clock.now()
        reserve = concluding_reserve(self._state.investigation.limits) / 2
        return min(MODEL_TURN_TIMEOUT_S, max((left - reserve).total_seconds(), LEAST_TIMEOUT_S))


def _fitted(kit: GatherKit, state: LoopState, held: Mapping[str, bytes]) -> tuple[Question, tuple[str, ...]]:
    """Write the question, and say what must be evicted before it may be asked."""
    question = Question(kit, state, held)
    return question, question.must_evict()
