"""How each hypothesis stands, by its category, and which evidence says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.siblings import Role
from inquest.domain.transcript import ToolCall
from inquest.investigators.analyst.blame import blamed_change, strain, troubled
from inquest.investigators.analyst.tools import JUDGE_TOOL

if TYPE_CHECKING:
    from inquest.domain.hypothesis import Hypothesis, Judgement
    from inquest.investigators.analyst.appraisal import Appraisal
    from inquest.ports import LoopView

MAX_CITED = 5


class Judged(NamedTuple):
    """A judgement with what it rests on."""

    judgement: Judgement
    evidence: tuple[str, ...]
    reason: str


def judge_calls(view: LoopView, found: Appraisal) -> tuple[ToolCall, ...]:
    """Give a `judge` call for every hypothesis that was not judged yet."""
    if JUDGE_TOOL not in {tool.name for tool in view.tools}:
        return ()
    waiting = [entry.hypothesis for entry in view.ledger.entries if not entry.is_judged]
    return tuple(
        ToolCall(call_id=f"a{view.turn}-{number}", name=JUDGE_TOOL, arguments=_arguments(hypothesis, found))
        for number, hypothesis in enumerate(waiting, start=1)
    )


def _arguments(hypothesis: Hypothesis, found: Appraisal) -> str:
    judged = judge(hypothesis, found)
    return json.dumps(
        {
            "hypothesis": hypothesis.name,
            "judgement": judged.judgement,
            "evidence": list(judged.evidence[:MAX_CITED]),
            "reason": judged.reason,
        },
        sort_keys=True,
    )


def judge(hypothesis: Hypothesis, found: Appraisal) -> Judged:
    """Judge `hypothesis` by its category; open, with the reason, where the evidence does not tell."""
    if found.onset_ms is None:
        return Judged("open", (), "no onset is seen in the alert's own signal, so nothing can be put before it")
    match hypothesis.category.split(".", maxsplit=1)[0]:
        case "change":
            return _judge_change(found)
        case "resource":
            return _judge_resource(found)
        case "traffic":
            return _judge_traffic(found)
        case "dependency":
            return _judge_dependency(found)
        case _:
            return Judged("open", (), "no signal that was looked at tells")


def _judge_change(found: Appraisal) -> Judged:
    worse, own = troubled(found), blamed_change(found)
    theirs = None if worse is None else worse.change
    if own is not None:
        return Judged("supported", (own.exhibit.item.name,), "a change of the service was followed by the trouble")
    if theirs is not None:
        why = "a change of what the service calls was followed by the trouble"
        return Judged("supported", (theirs.exhibit.item.name,), why)
    if found.own_changes:
        why = "a change of the service took effect, but nothing beside the order of time connects the trouble with it"
        return Judged("open", (found.own_changes[0].exhibit.item.name,), why)
    answered = tuple(one.item.name for one in found.changes_answered if not one.item.observation.truncated)
    if not answered:
        return Judged("open", (), "no complete answer about changes is at hand")
    return Judged("refuted", answered, "no change of the service took effect in the hour before onset")


def _judge_resource(found: Appraisal) -> Judged:
    if found.saturations:
        first = found.saturations[0]
        names = (first.used.exhibit.item.name, first.limit.exhibit.item.name)
        return Judged("supported", names, "a limited resource was used up in the incident and not before it")
    moved = [sign for sign in strain(found) if sign.role is Role.SATURATION]
    if moved:
        movers = tuple(sign.exhibit.item.name for sign in moved)
        return Judged("supported", movers, "use of a resource left its baseline no later than the symptom")
    seen = tuple(sign.exhibit.item.name for sign in found.signs if sign.role is Role.SATURATION)
    if not seen:
        return Judged("open", (), "no metric of a limited resource was found for the service")
    return Judged(
        "refuted",
        seen,
        "every resource that was looked at stayed at its baseline, or far below its limit, until the symptom",
    )


def _judge_dependency(found: Appraisal) -> Judged:
    worse = troubled(found)
    if worse is not None:
        names = (worse.trouble.sign.exhibit.item.name,)
        return Judged("supported", names, "something that the service calls got worse no later than the symptom")
    seen = tuple(sign.exhibit.item.name for one in found.dependencies for sign in one.signs)
    if not found.dependencies or not all(one.signs for one in found.dependencies):
        return Judged("open", seen, "not everything that the service calls is known and was seen")
    return Judged("refuted", seen, "what the service calls answered as usual until the symptom")


def _judge_traffic(found: Appraisal) -> Judged:
    traffic = [sign for sign in found.signs if sign.role is Role.TRAFFIC]
    if not traffic:
        return Judged("open", (), "no metric of traffic with a baseline was found for the service")
    names = tuple(sign.exhibit.item.name for sign in traffic)
    risen = [s for s in found.moved(Role.TRAFFIC) if s.course.onset and s.course.onset.direction == "up"]
    if risen:
        return Judged("supported", names, "traffic rose above its baseline no later than the symptom")
    return Judged("refuted", names, "traffic did not rise before the symptom")
