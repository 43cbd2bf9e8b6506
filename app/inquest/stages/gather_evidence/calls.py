"""What is done with each call of a reply: dispatch, replay, answer ourselves, or refuse. Pure.

Offered-ness is decided here, at dispatch, not when tools are listed. A bad call becomes an answer with a
failure code and a hint that says what is allowed; it never ends anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from inquest.domain.budget import MAX_CALLS_IN_TURN, MAX_LISTED_CALLS
from inquest.domain.effect import EffectKind, Reservation, call_key
from inquest.domain.failure import FailureCode
from inquest.domain.fingerprint import query_fingerprint
from inquest.domain.observation import Query, QueryBudget
from inquest.domain.planned import CallPlan, Dispatch, Internal, PlannedCall, Refuse, ReplayOf
from inquest.domain.transcript import Reply, ToolCall
from inquest.domain.value import Json
from inquest.errors import InvariantBroken
from inquest.ports import InvalidQuery
from inquest.stages.gather_evidence.arguments import MAX_HINT_CHARS, BadArguments, asked_window, checked, parse
from inquest.stages.gather_evidence.identity import DEFAULT_STEP_MS, query_identity
from inquest.stages.gather_evidence.internal_tools import ASK_HUMAN, OWN_TOOLS
from inquest.stages.gather_evidence.state import LoopState
from inquest.stages.questions import questions_left
from inquest.stages.tools import BoundTool

TRUNCATED = frozenset({"length", "max_tokens"})
"""Finish reasons that say that the reply ended at its token limit."""
MAX_CALL_ID_CHARS = 128
_SAFE_ID = re.compile(r"^[A-Za-z0-9_.:|=+/-]+$")
_SAFE_NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
_HOST_ARGUMENTS = ("start", "end", "limit", "cursor")
"""Where a tool's schema offers these, they are the query's own fields and not the tool's arguments."""


@dataclass(frozen=True)
class Offer:
    """What may be called in one turn. `offered` is empty in the last turn, when tools are withdrawn."""

    tools: Mapping[str, BoundTool]
    offered: tuple[str, ...]


@dataclass
class _Taken:
    """What this batch has taken so far: call identities by key, what may still be reserved, and whether it asks."""

    keys: dict[str, str]
    effects_left: int
    asks: bool = False


def plan_calls(state: LoopState, reply: Reply, offer: Offer) -> tuple[PlannedCall, ...]:
    """Decide on every listed call of `reply`, in asked order."""
    turn = state.next_turn
    budget = state.plan.budget.max_connector_effects
    taken = _Taken(keys=_asked_before(state, offer.tools), effects_left=budget - state.spend.connector_effects)
    planned: list[PlannedCall] = []
    seen = {earlier.call_id for before in state.turns for earlier in before.calls}
    for ordinal, call in enumerate(reply.tool_calls[:MAX_LISTED_CALLS], start=1):
        call_id = _call_id(call, turn, ordinal, seen)
        try:
            plan = _plan(state, call, ordinal, offer, taken, cut=reply.finish_reason in TRUNCATED)
        except _Refused as refused:
            plan = refused.plan
        planned.append(PlannedCall(ordinal=ordinal, call_id=call_id, name=_name(call.name), plan=plan))
    return tuple(planned)


def unlisted(reply: Reply) -> int:
    """Count the calls of `reply` that are past the list and get no answer."""
    return max(0, len(reply.tool_calls) - MAX_LISTED_CALLS)


def without_effects(planned: tuple[PlannedCall, ...], hint: str) -> tuple[PlannedCall, ...]:
    """Refuse every dispatch of `planned`, and what would replay one of them: the store allows no more."""
    refuse = Refuse(code=FailureCode.BUDGET_EXHAUSTED, hint=hint)
    fresh = {call.plan.key for call in planned if isinstance(call.plan, Dispatch)}
    return tuple(
        call.but(plan=refuse) if isinstance(call.plan, Dispatch | ReplayOf) and call.plan.key in fresh else call
        for call in planned
    )


def reservations(planned: tuple[PlannedCall, ...]) -> tuple[Reservation, ...]:
    """Give the reservations of a batch."""
    return tuple(
        Reservation(
            key=call.plan.key,
            kind=EffectKind.QUERY,
            fingerprint=call.plan.fingerprint,
            tool_call_id=call.call_id,
            timeout_ms=call.plan.query.budget.timeout_ms,
        )
        for call in planned
        if isinstance(call.plan, Dispatch)
    )


# ---- one call ------------------------------------------------------------------------------------------


class _Refused(Exception):  # a step of this module, never seen outside
    def __init__(self, code: FailureCode, hint: str) -> None:
        super().__init__(hint)
        self.plan = Refuse(code=code, hint=hint[:MAX_HINT_CHARS])


def _plan(state: LoopState, call: ToolCall, ordinal: int, offer: Offer, taken: _Taken, *, cut: bool) -> CallPlan:
    if ordinal > MAX_CALLS_IN_TURN:
        raise _Refused(FailureCode.BUDGET_EXHAUSTED, f"a turn has at most {MAX_CALLS_IN_TURN} calls")
    _check_offered(call.name, offer)
    try:
        raw = parse(call.arguments, cut=cut)
        if call.name in OWN_TOOLS:
            arguments = checked(raw, OWN_TOOLS[call.name].parameters)
            if call.name == ASK_HUMAN.name:
                _take_question(state, taken)
            return Internal(tool=call.name, arguments=arguments)
        bound = offer.tools[call.name]
        query = _query(state, bound, checked(raw, bound.spec.parameters))
    except (BadArguments, InvalidQuery) as bad:
        raise _Refused(FailureCode.INVALID_QUERY, bad.hint) from bad
    return _dispatch(state, query, bound, ordinal, taken)


def _check_offered(name: str, offer: Offer) -> None:
    if not offer.offered:
        raise _Refused(FailureCode.CAPABILITY_DENIED, "tools are withdrawn: conclude from what there is")
    if name in offer.offered and (name in OWN_TOOLS or name in offer.tools):
        return
    known = name in offer.tools
    code = FailureCode.CAPABILITY_DENIED if known else FailureCode.INVALID_QUERY
    said = "this tool is not on offer now; search_tools brings it in" if known else "there is no such tool"
    raise _Refused(code, f"{said}. Allowed: {', '.join(offer.offered)}")


def _take_question(state: LoopState, taken: _Taken) -> None:
    """Let a batch ask a human once, while questions are left."""
    if taken.asks:
        raise _Refused(FailureCode.INVALID_QUERY, "a turn asks one question: put what you need to know into it")
    if not questions_left(state.investigation):
        raise _Refused(FailureCode.BUDGET_EXHAUSTED, "no question is left: go on with what there is")
    taken.asks = True


def _query(state: LoopState, bound: BoundTool, arguments: dict[str, Json]) -> Query:
    facts, integrations = state.investigation.facts, state.investigation.integrations
    if facts is None or integrations is None:
        msg = "the loop runs after the facts are extracted"
        raise InvariantBroken(msg)
    limit, cursor = arguments.get("limit"), arguments.get("cursor")
    try:
        budget = QueryBudget() if limit is None else QueryBudget.model_validate({"max_items": limit})
    except ValidationError as error:
        raise BadArguments("limit is outside what one query may take") from error
    if cursor is not None and not isinstance(cursor, str):
        raise BadArguments("cursor is not the text that an earlier page gave")
    own = {name: value for name, value in arguments.items() if name not in _HOST_ARGUMENTS}
    asked = Query(
        tool=bound.spec.name,
        service_id=integrations.service.service_id,
        arguments=own,
        time_range=asked_window(arguments, facts.window, bound.spec.step_ms),
        budget=budget,
        cursor=cursor,
    )
    return bound.tool.prepare(own, asked)


def _dispatch(state: LoopState, query: Query, bound: BoundTool, ordinal: int, taken: _Taken) -> CallPlan:
    identity = query_identity(query, bound.spec.step_ms)
    earlier = taken.keys.get(identity)
    if earlier is not None:
        return ReplayOf(key=earlier)
    if taken.effects_left <= 0:
        raise _Refused(FailureCode.BUDGET_EXHAUSTED, "no calls are left: judge the hypotheses and conclude")
    taken.effects_left -= 1
    key = call_key(state.next_turn, ordinal)
    taken.keys[identity] = key
    return Dispatch(key=key, fingerprint=query_fingerprint(query, bound.context), query=query)


def _asked_before(state: LoopState, tools: Mapping[str, BoundTool]) -> dict[str, str]:
    """Give the receipt key of every query so far by its identity; the first one asked wins."""
    keys: dict[str, str] = {}
    for asked in state.asked:
        bound = tools.get(asked.query.tool)
        step = DEFAULT_STEP_MS if bound is None else bound.spec.step_ms
        keys.setdefault(query_identity(asked.query, step), asked.effect_key)
    return keys


# ---- names ---------------------------------------------------------------------------------------------


def _call_id(call: ToolCall, turn: int, ordinal: int, seen: set[str]) -> str:
    """Keep the provider's id where it is fit for history; else make one.

    Some are empty or odd, and some providers begin anew in every reply: an id names one call of all turns.
    """
    fit = len(call.call_id) <= MAX_CALL_ID_CHARS and _SAFE_ID.match(call.call_id) and call.call_id not in seen
    call_id = call.call_id if fit else f"call_{turn}_{ordinal}"
    seen.add(call_id)
    return call_id


def _name(name: str) -> str:
    """Keep a name that providers take in history."""
    return name if _SAFE_NAME.match(name) else "unknown_tool"
