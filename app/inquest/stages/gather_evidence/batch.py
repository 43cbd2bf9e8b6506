"""Answering a batch: queries at once, our own answers in asked order, and the join in planned order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
    Refuse,
    ReplayOf,
)
from inquest.domain.tool import ToolSpec
from inquest.ports import Acts
from inquest.stages.gather_evidence import internal_tools
from inquest.stages.gather_evidence.absorb import with_result
from inquest.stages.gather_evidence.loop import RunBatch
from inquest.stages.gather_evidence.state import LoopState, call_path
from inquest.stages.questions import next_name


@dataclass(frozen=True)
class ToAsk:
    """What a call asks a human; `call_key` is its place."""

    prompt: str
    call_key: str


@dataclass
class Answers:
    """The answers of a batch in planned order, the bytes of our own ones, and the tools that searches found.

    `question` is what a human is to be asked: the one answer that is still to come.
    """

    joined: tuple[Joined, ...] = ()
    contents: dict[str, bytes] = field(default_factory=dict)
    found: tuple[str, ...] = ()
    question: ToAsk | None = None


async def answer_batch(step: RunBatch, state: LoopState, acts: Acts, tools: Mapping[str, ToolSpec]) -> Answers:
    """Answer every call of `step`. Raises what `acts` raises, the first error of several."""
    receipts = await _query_all(step.calls, acts)
    answers = Answers()
    joined: list[Joined] = []
    for call in step.calls:
        match call.plan:
            case Dispatch(key=key):
                joined.append(ByReceipt(key=receipts[key]))
            case ReplayOf(key=key):
                joined.append(ByReplay(key=receipts.get(key, key)))
            case Refuse(code=code, hint=hint):
                joined.append(ByRefusal(code=code, hint=hint))
            case Internal(tool=internal_tools.ASK_HUMAN.name, arguments=arguments):
                answers.question = ToAsk(str(arguments["question"]), call_path(step.batch, call.ordinal))
                joined.append(ByInterrupt(interrupt_id=next_name(state.investigation)))
            case Internal() as plan:
                state, internal = await _internal(plan, state, acts, tools, answers)
                joined.append(internal)
    answers.joined = tuple(joined)
    return answers


async def _query_all(calls: Sequence[PlannedCall], acts: Acts) -> dict[str, str]:
    """Run the dispatched calls; give the receipt key of each planned key (another one where it was moved).

    One that may not go on (a lost fence, a drain) does not cut the others: what was sent ends and is
    recorded, then the first error is raised.
    """
    plans = [call.plan for call in calls if isinstance(call.plan, Dispatch)]
    ended = await asyncio.gather(*(acts.query(plan.key, plan.query) for plan in plans), return_exceptions=True)
    keys: dict[str, str] = {}
    for plan, reading in zip(plans, ended, strict=True):
        if isinstance(reading, BaseException):
            raise reading
        keys[plan.key] = reading.key
    return keys


async def _internal(
    plan: Internal, state: LoopState, acts: Acts, tools: Mapping[str, ToolSpec], answers: Answers
) -> tuple[LoopState, ByInternal]:
    """Answer one internal call; the next one of the batch sees what this one wrote into the ledger."""
    wanted = internal_tools.evidence_wanted(state, plan.tool, plan.arguments)
    content = None if wanted is None else (await acts.contents([wanted]))[wanted]
    result = internal_tools.answer(state, plan.tool, plan.arguments, tools=tools, content=content)
    stored = result.canonical()
    digest = result.canonical_digest()
    answers.contents[digest] = stored
    answers.found = (*result.found, *(name for name in answers.found if name not in result.found))
    return state.but(ledger=with_result(state.ledger, result)), ByInternal(result=digest)
