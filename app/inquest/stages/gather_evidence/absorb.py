"""What each event makes of the state of the loop. Pure: the same events and contents, the same state."""

from __future__ import annotations

from typing import assert_never

from inquest.domain.canonical import canonical_json
from inquest.domain.event import (
    BatchJoined,
    EpisodeChanged,
    EventBody,
    InterruptAnswered,
    InterruptExpired,
    LoopSteered,
    SelectionChanged,
    TurnCommitted,
)
from inquest.domain.hypothesis import Ledger, LedgerEntry
from inquest.domain.investigation import Investigation
from inquest.domain.planned import (
    ByInternal,
    ByInterrupt,
    ByReceipt,
    ByRefusal,
    ByReplay,
    Dispatch,
    Internal,
    Joined,
    PlannedCall,
)
from inquest.domain.transcript import Reply
from inquest.errors import InvariantBroken, ReplayMismatch
from inquest.stages.fold import absorb_event
from inquest.stages.gather_evidence.admission import admit
from inquest.stages.gather_evidence.identity import internal_identity
from inquest.stages.gather_evidence.record import InternalResult, Record
from inquest.stages.gather_evidence.spending import effects_of, guarded_tokens, with_reply
from inquest.stages.gather_evidence.state import SEED_BATCH, Answer, LoopState, Turn, call_path

NO_ANSWER = "Nobody answered within seven days; go on without."


def absorb(state: LoopState, body: EventBody, record: Record) -> LoopState:
    """Give the state after `body`.

    Raises ReplayMismatch when a content or receipt that it needs is missing, InvariantBroken when the
    event cannot come here.
    """
    state = state.but(investigation=_investigation(state.investigation, body))
    match body:
        case TurnCommitted():
            return _turned(state, body, record)
        case BatchJoined():
            return _joined(state, body, record)
        case LoopSteered(steering=steering):
            offered = steering.offered if isinstance(steering, SelectionChanged) else state.offered
            return state.but(offered=offered, steering=(*state.steering, steering))
        case _:
            return _changed_outside(state, body)


def _changed_outside(state: LoopState, body: EventBody) -> LoopState:
    match body:
        case EpisodeChanged():
            return state.but(changes=(*state.changes, (state.next_turn, body)))
        case InterruptAnswered(interrupt_id=name, answer=answer):
            return _answered(state, name, answer, foreign=True)
        case InterruptExpired(interrupt_id=name):
            return _answered(state, name, NO_ANSWER, foreign=False)
        case _:
            return state


def _investigation(state: Investigation, body: EventBody) -> Investigation:
    after = absorb_event(state, body)
    if after is None:
        raise InvariantBroken(f"{body.kind} ended an investigation that had begun")
    return after


# ---- a turn --------------------------------------------------------------------------------------------


def _turned(state: LoopState, body: TurnCommitted, record: Record) -> LoopState:
    if state.open_batch is not None:
        raise InvariantBroken(f"turn {body.turn} was committed before {state.open_batch} was joined")
    if body.turn != state.next_turn:
        raise InvariantBroken(f"turn {body.turn} was committed where {state.next_turn} comes next")
    outcome = record.reply(body.reply, body.key)
    turn = Turn(
        number=body.turn,
        key=body.key,
        outcome=outcome,
        calls=body.calls,
        offered=body.offered,
        request_digest=body.request_digest,
        request_tokens=body.request_tokens,
        unlisted_calls=body.unlisted_calls,
    )
    cost = outcome.cost_usd_micros if isinstance(outcome, Reply) else None
    return state.but(
        turns=(*state.turns, turn),
        open_batch=turn.batch if body.calls else None,
        spend=with_reply(state.spend, outcome),
        guarded_tokens=state.guarded_tokens + guarded_tokens(outcome, body.request_tokens),
        dearest_turn_usd_micros=max(state.dearest_turn_usd_micros, cost or 0),
    )


# ---- a batch -------------------------------------------------------------------------------------------


def _joined(state: LoopState, body: BatchJoined, record: Record) -> LoopState:
    if body.batch != state.open_batch:
        raise InvariantBroken(f"{body.batch} was joined where {state.open_batch} is open")
    planned = state.planned(body.batch)
    if len(planned) != len(body.results):
        raise ReplayMismatch(f"{body.batch} has {len(planned)} calls and {len(body.results)} answers")
    for call, joined in zip(planned, body.results, strict=True):
        state = _with_answer(state, body.batch, call, joined, record)
    state = state.but(open_batch=None)
    if body.batch == SEED_BATCH:
        return state
    fresh = any(answer.fresh for answer in state.answers if answer.batch == body.batch)
    return state.but(stagnant=0 if fresh else state.stagnant + 1)


def _with_answer(state: LoopState, batch: str, call: PlannedCall, joined: Joined, record: Record) -> LoopState:
    match joined:
        case ByReceipt(key=key):
            return _by_receipt(state, batch, call, key, record)
        case ByReplay(key=key):
            return _by_replay(state, batch, call, key)
        case ByRefusal(code=code, hint=hint):
            answer = _answer(state, batch, call).but(how="refusal", code=code, text=hint)
            return _counted(state, answer, "refused_calls")
        case ByInternal(result=result):
            return _by_internal(state, batch, call, result, record)
        case ByInterrupt(interrupt_id=name):
            asked = _answer(state, batch, call).but(how="interrupt", key=name, fresh=True)
            return _counted(state, asked, "internal_calls")
        case unknown:
            assert_never(unknown)


def _by_receipt(state: LoopState, batch: str, call: PlannedCall, key: str, record: Record) -> LoopState:
    if not isinstance(call.plan, Dispatch):
        raise ReplayMismatch(f"{batch} call {call.ordinal} was not dispatched, yet a receipt answers it")
    recorded = record.outcome(key)
    admitted = admit(
        recorded,
        call.plan.query,
        key=key,
        workspace=state.investigation.identity.workspace_id,
        known=state.evidence,
        integrations=state.investigation.integrations,
    )
    answer = _answer(state, batch, call).but(
        how="receipt",
        key=key,
        evidence=admitted.asked.evidence,
        failure=admitted.asked.failure,
        next_cursor=admitted.next_cursor,
        fresh=recorded.exchanges > 0,
    )
    used = state.spend.connector_effects + effects_of(record, call.plan.key, recorded.tries)
    return state.but(
        answers=(*state.answers, answer),
        evidence=(*state.evidence, *admitted.items),
        excluded=(*state.excluded, *admitted.excluded),
        asked=(*state.asked, admitted.asked),
        spend=state.spend.but(connector_effects=used),
    )


def _by_replay(state: LoopState, batch: str, call: PlannedCall, key: str) -> LoopState:
    original = next((one for one in state.answers if one.how == "receipt" and one.key == key), None)
    if original is None:
        raise ReplayMismatch(f"{batch} call {call.ordinal} repeats {key}, which was never answered")
    answer = _answer(state, batch, call).but(
        how="replay",
        key=key,
        evidence=original.evidence,
        failure=original.failure,
        next_cursor=original.next_cursor,
    )
    return _counted(state, answer, "replayed_calls")


def _by_internal(state: LoopState, batch: str, call: PlannedCall, digest: str, record: Record) -> LoopState:
    if not isinstance(call.plan, Internal):
        raise ReplayMismatch(f"{batch} call {call.ordinal} is not internal, yet we answered it")
    result = record.internal(digest, f"{batch} call {call.ordinal}")
    identity = internal_identity(call.plan.tool, call.plan.arguments)
    answer = _answer(state, batch, call).but(
        how="internal",
        code=result.code,
        text=result.text,
        evidence=(result.evidence,) if result.evidence else (),
        foreign=bool(result.evidence),
        fresh=result.code is None and identity not in state.internal_seen,
    )
    state = state.but(ledger=with_result(state.ledger, result), internal_seen=state.internal_seen | {identity})
    return _counted(state, answer, "internal_calls")


def with_result(ledger: Ledger, result: InternalResult) -> Ledger:
    """Write what an internal answer says into the ledger."""
    entries = list(ledger.entries)
    if result.opened is not None:
        entries.append(LedgerEntry(hypothesis=result.opened))
    if result.judged is not None:
        name = result.judged.hypothesis.name
        entries = [result.judged if entry.hypothesis.name == name else entry for entry in entries]
    return Ledger(entries=tuple(entries))


def _answer(state: LoopState, batch: str, call: PlannedCall) -> Answer:
    """Begin the answer of `call`, which has the arguments as they were asked."""
    path = call_path(batch, call.ordinal)
    return Answer(
        batch=batch,
        ordinal=call.ordinal,
        path=path,
        call_id=call.call_id,
        name=call.name,
        arguments=_arguments(state, batch, call),
        how="refusal",
        key=path,
    )


def _arguments(state: LoopState, batch: str, call: PlannedCall) -> str:
    if batch == SEED_BATCH:
        return canonical_json(state.plan.seeds[call.ordinal - 1].query.arguments).decode()
    outcome = next(turn.outcome for turn in state.turns if turn.batch == batch)
    return outcome.tool_calls[call.ordinal - 1].arguments if isinstance(outcome, Reply) else ""


def _counted(state: LoopState, answer: Answer, what: str) -> LoopState:
    spend = state.spend.but(**{what: getattr(state.spend, what) + 1})
    return state.but(answers=(*state.answers, answer), spend=spend)


# ---- interrupts ----------------------------------------------------------------------------------------


def _answered(state: LoopState, name: str, text: str, *, foreign: bool) -> LoopState:
    def worded(answer: Answer) -> Answer:
        mine = answer.how == "interrupt" and answer.key == name
        return answer.but(text=text, foreign=foreign) if mine else answer

    return state.but(answers=tuple(worded(answer) for answer in state.answers))
