"""The conversation for an investigator that reads text: rendered from the state, in no provider's format. Pure.

Roles come from the structure of the journal, never from text. A call and its answer are both there or both
not. What changes from turn to turn stands at the end, so that the front is the same in every request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inquest.domain.budget import MAX_LISTED_CALLS
from inquest.domain.event import EpisodeChanged
from inquest.domain.evidence import Asked
from inquest.domain.transcript import AssistantTurn, Message, Reply, ToolCall, ToolResult, UserText
from inquest.stages.gather_evidence.answers import answer_text, shown_arguments
from inquest.stages.gather_evidence.brief import brief
from inquest.stages.gather_evidence.excerpt import one_line
from inquest.stages.gather_evidence.kit import Frame
from inquest.stages.gather_evidence.limits import INDEX_SHARE, part_bytes
from inquest.stages.gather_evidence.render import fenced, is_empty, window_text
from inquest.stages.gather_evidence.state import SEED_BATCH, Answer, LoopState, Turn

MAX_SAID_BYTES = 2_000
"""Of the words of an earlier reply."""
MIN_INDEX_LINE, MAX_INDEX_LINE = 24, 200


def conversation(state: LoopState, frame: Frame, *, tools: bool) -> tuple[Message, ...]:
    """Give brief, seed answers, the turns so far, and how things stand.

    Without `tools` the calls and answers of earlier turns are written as text: some providers refuse a
    request whose history has calls and which describes no tool.
    """
    messages: list[Message] = [UserText(text=brief(state, frame.boundary)), *_seeds(state, frame)]
    for turn in state.turns:
        messages.extend(_called(state, turn, frame) if tools else _told(state, turn, frame))
        messages.extend(UserText(text=note) for note in _notes(state, turn, frame.boundary))
    messages.append(UserText(text=_standing(state, frame.boundary)))
    return tuple(_merged(messages))


def _seeds(state: LoopState, frame: Frame) -> list[Message]:
    answers = [one for one in state.answers if one.batch == SEED_BATCH and one.path not in state.evicted]
    if not answers:
        return []
    whys = [seed.why for seed in state.plan.seeds]
    parts = [f"{one.path}, {one.name}: {whys[one.ordinal - 1]}\n{answer_text(state, one, frame)}" for one in answers]
    return [UserText(text="\n\n".join(["Asked before your first turn:", *parts]))]


def _called(state: LoopState, turn: Turn, frame: Frame) -> list[Message]:
    """Give a turn as a reply with its calls, and their answers in asked order."""
    answers = _shown(state, turn)
    calls = tuple(
        ToolCall(call_id=one.call_id, name=one.name, arguments=shown_arguments(one.arguments)) for one in answers
    )
    said = _said(state, turn)
    results = [ToolResult(call_id=one.call_id, name=one.name, text=answer_text(state, one, frame)) for one in answers]
    return [AssistantTurn(text=said, tool_calls=calls), *results] if calls or said else []


def _told(state: LoopState, turn: Turn, frame: Frame) -> list[Message]:
    """Give the same turn in words."""
    answers = _shown(state, turn)
    said = _said(state, turn)
    called = [f"{one.path}: {one.name} {shown_arguments(one.arguments)}" for one in answers]
    messages: list[Message] = []
    if said or called:
        messages.append(AssistantTurn(text="\n".join([*([said] if said else []), *called])))
    messages.extend(UserText(text=f"{one.path}: {answer_text(state, one, frame)}") for one in answers)
    return messages


def _shown(state: LoopState, turn: Turn) -> list[Answer]:
    return [one for one in state.answers if one.batch == turn.batch and one.path not in state.evicted]


def _said(state: LoopState, turn: Turn) -> str:
    if not isinstance(turn.outcome, Reply) or turn.batch in state.evicted:
        return ""
    return one_line(turn.outcome.content.strip(), MAX_SAID_BYTES)


def _notes(state: LoopState, turn: Turn, boundary: str) -> list[str]:
    """Give what was said to the model between `turn` and the next."""
    following = turn.number + 1
    unlisted = f"{turn.unlisted_calls} more calls were not read: a reply has at most {MAX_LISTED_CALLS}."
    nudges = [nudge.text for nudge in state.nudges if nudge.turn == following]
    changes = [_change_text(change, boundary) for at, change in state.changes if at == following]
    return [*([unlisted] if turn.unlisted_calls else []), *nudges, *changes]


def _change_text(change: EpisodeChanged, boundary: str) -> str:
    names = ", ".join(member.alert.name for member in change.joined)
    joined = f"joined: {one_line(names, MAX_SAID_BYTES)}" if names else "none joined"
    more = f", and {change.unlisted_members} more" if change.unlisted_members else ""
    resolved = len(change.resolved) + change.unlisted_resolved
    fired_again = len(change.fired_again) + change.unlisted_fired_again
    again = f", {fired_again} fire again" if fired_again else ""
    said = fenced(f"{joined}{more}; {resolved} resolved{again}", boundary, "episode")
    return f"The episode changed; the window now ends at {change.window_end.isoformat()}.\n{said}"


# ---- how things stand ----------------------------------------------------------------------------------


def _standing(state: LoopState, boundary: str) -> str:
    budget = state.plan.budget
    planned = len(state.plan.seeds) + sum(call.plan.plan == "dispatch" for turn in state.turns for call in turn.calls)
    parts = [
        f"Turn {state.next_turn} of {budget.max_model_turns}. Queries: {planned} of {budget.max_connector_effects}."
    ]
    parts.append(fenced("\n".join([*_ledger(state), *_index(state)]), boundary, "hypotheses and what was asked"))
    gone = sum(answer.path in state.evicted for answer in state.answers)
    if gone:
        parts.append(f"{gone} earlier answers are not shown any more; read_evidence reads their evidence.")
    if state.withdrawn is not None:
        parts.append(f"Tools are withdrawn ({state.withdrawn.why}): this is the last turn. Conclude in words.")
    return "\n".join(parts)


def _ledger(state: LoopState) -> list[str]:
    lines = ["hypotheses:"]
    for entry in state.ledger.entries:
        hypothesis = entry.hypothesis
        judged = f"{entry.judgement} ({', '.join(entry.evidence) or 'no evidence'}): {entry.reason}"
        stands = judged if entry.reason else "not judged"
        text = one_line(f"{hypothesis.text} Refuted by: {hypothesis.refuted_by}", MAX_SAID_BYTES // 4)
        lines.append(f"- {hypothesis.name} {stands} | {text}")
    return lines


def _index(state: LoopState) -> list[str]:
    """Give one line for each query that was asked: the line that stays when its answer is evicted."""
    if not state.asked:
        return []
    share = part_bytes(state.investigation.limits, INDEX_SHARE) // state.plan.budget.max_connector_effects
    width = min(max(share, MIN_INDEX_LINE), MAX_INDEX_LINE)
    return ["asked:", *(one_line(_asked_line(state, asked), width) for asked in state.asked)]


def _asked_line(state: LoopState, asked: Asked) -> str:
    names = ", ".join(asked.evidence)
    items = [item for name in asked.evidence if (item := state.item(name)) is not None]
    if asked.failure is not None:
        status = f"{asked.failure.code}"
    else:
        status = "empty" if all(is_empty(item.observation) for item in items) else "ok"
    query = asked.query
    what = query.expression or ", ".join(f"{name}={value}" for name, value in sorted(query.arguments.items()))
    return f"- {names or '-'} {status} {query.tool} {what} {window_text(query.time_range)}"


def _merged(messages: Iterable[Message]) -> Sequence[Message]:
    """Join neighbouring user texts: some providers want the roles to alternate."""
    merged: list[Message] = []
    for message in messages:
        before = merged[-1] if merged else None
        if isinstance(message, UserText) and isinstance(before, UserText):
            merged[-1] = UserText(text=f"{before.text}\n\n{message.text}")
        else:
            merged.append(message)
    return merged
