"""The explanations that the analyst knows: the first one that the evidence carries, with what proves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.siblings import Role
from inquest.domain.diagnosis import UNKNOWN_CAUSE, Verdict
from inquest.investigators.analyst.blame import blamed_change, strain, surge, troubled
from inquest.investigators.analyst.wording import (
    change_citation,
    change_claims,
    named,
    no_change_claim,
    novel_claim,
    onset_claims,
    saturation_claims,
    step,
)

if TYPE_CHECKING:
    from inquest.domain.claim import Claim
    from inquest.domain.diagnosis import ChainStep
    from inquest.investigators.analyst.appraisal import Appraisal
    from inquest.investigators.analyst.blame import Troubled
    from inquest.investigators.analyst.changes import SuspectChange
    from inquest.investigators.analyst.exhibit import Course
    from inquest.investigators.analyst.signs import Sign

MAX_NOVEL = 3

RESOURCE_CAUSES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"pool", "connections", "conns"}), "resource.connection_pool_exhausted"),
    (frozenset({"memory", "heap"}), "resource.memory_exhausted"),
    (frozenset({"cpu", "throttled"}), "resource.cpu_exhausted"),
    (frozenset({"disk", "inodes"}), "resource.disk_full"),
    (frozenset({"fds"}), "resource.file_handles_exhausted"),
    (frozenset({"threads", "workers", "goroutines"}), "resource.threads_exhausted"),
    (frozenset({"queue", "queued", "pending", "backlog", "lag"}), "queue.backlog"),
)
"""What a used-up resource is called, by the words of its metric's name."""


class Case(NamedTuple):
    """One explanation: its words, the culprit, and its steps with what proves them."""

    verdict: Verdict
    category: str
    affected_object: str
    text: str
    claims: tuple[Claim, ...]
    chain: tuple[ChainStep, ...]


def explain(found: Appraisal, signal: Course) -> Case:
    """Take the first explanation that the evidence carries: a change, what came first of the rest, a used-up resource."""
    own, worse, more = blamed_change(found), troubled(found), surge(found)
    if own is not None:
        return _changed(found, signal, own, _own(found))
    if more is not None and (worse is None or _came_between(more, worse, found.slack_ms)):
        return _surge(found, signal, more)
    if worse is not None and worse.change is not None:
        return _changed_elsewhere(found, signal, worse, worse.change)
    if worse is not None:
        return _worse_elsewhere(found, signal, worse)
    if found.saturations:
        return _used_up(found, signal)
    return _only_contributing(found, signal)


def _came_between(more: Sign, worse: Troubled, slack_ms: int) -> bool:
    """Say whether a surge came before what it calls got worse, and after the change that would else be behind that."""
    changed_at = 0 if worse.change is None else worse.change.suspect.change.time
    return changed_at < _rose(more) <= worse.trouble.at_ms + slack_ms


def _rose(traffic: Sign) -> int:
    return traffic.onset_ms or 0


def _own(found: Appraisal) -> str:
    if not found.service.service_id:
        return ""
    kind = "deployment" if found.service.workload else "service"
    return f"{kind}/{found.service.namespace or '-'}/{found.service.workload or found.service.service_id}"


# ---- the parts that explanations share -----------------------------------------------------------------


def _strained(found: Appraisal, signal: Course) -> tuple[str, list[Claim], list[ChainStep]]:
    """Say how the service itself came from the cause to the symptom: its words, claims and steps."""
    mechanism = strain(found)
    claims: list[Claim] = []
    chain: list[ChainStep] = []
    text = ""
    if found.saturations:
        first = found.saturations[0]
        claims += saturation_claims(first)
        text = f" Then {first.used.course.subject} reached {first.limit.metric}"
        chain.append(
            step(first.at_ms, f"{first.used.course.subject} reached its limit.",
                 first.used.course.cited, first.limit.course.cited)
        )  # fmt: skip
    elif mechanism:
        moved = mechanism[0].course
        text = f" Then {moved.subject} left its baseline"
        chain.append(step(mechanism[0].since_ms or 0, f"{moved.subject} left its baseline.", moved.cited))
    elif found.novel:
        text = " Then new error lines appeared in the log"
    text += f", and {signal.subject} with it." if text else f" Then {signal.subject} left its baseline."
    if signal.onset is not None:
        chain.append(step(signal.onset.at_ms, f"{signal.subject} left its baseline.", signal.cited))
    claims += [*_sign_claims(mechanism), *map(novel_claim, found.novel[:MAX_NOVEL])]
    return text, claims, chain


def _in_order(first: ChainStep, rest: list[ChainStep]) -> tuple[ChainStep, ...]:
    """Put the cause first: what is seen in samples may seem to be before it by one of them."""
    return (first, *sorted(rest, key=lambda one: one.at))


def _sign_claims(signs: tuple[Sign, ...]) -> tuple[Claim, ...]:
    return tuple(claim for sign in signs for claim in onset_claims(sign.course))


def _no_changes(found: Appraisal) -> tuple[Claim, ...]:
    """Say, where the answers about changes were complete and empty, that there were none."""
    return tuple(
        no_change_claim(one)
        for one in found.changes_answered
        if one.content.kind == "changes" and not one.content.changes
    )


def _kind(change: str) -> str:
    return {"deployment": "deployment", "config": "configuration", "scaling": "scaling", "node": "node"}.get(
        change, "release"
    )


# ---- a change ------------------------------------------------------------------------------------------


def _changed(found: Appraisal, signal: Course, own: SuspectChange, affected: str) -> Case:
    change = own.suspect.change
    merged = found.behind(own)
    brought = f", with {merged.suspect.change.change_id}" if merged is not None else ""
    claims = [*change_claims(own, signal), *(change_claims(merged, signal)[:1] if merged is not None else ())]
    text, more, chain = _strained(found, signal)
    first = step(change.time, f"{named(change)} began.", change_citation(own))
    return Case(
        Verdict.CAUSE_FOUND,
        f"change.{_kind(change.change)}",
        affected,
        f"The {named(change)} ({change.change_id}{brought}) came first.{text}",
        (*claims, *more),
        _in_order(first, chain),
    )


def _changed_elsewhere(found: Appraisal, signal: Course, worse: Troubled, change: SuspectChange) -> Case:
    """Blame the change of a dependency: the dependency got worse after it, and the service with the dependency."""
    case = _changed(found, signal, change, _elsewhere(worse))
    course = worse.trouble.sign.course
    began, rest = case.text.split(" Then ", maxsplit=1)
    trouble = step(worse.trouble.at_ms, f"{course.subject} left its usual range.", course.cited)
    return case._replace(
        text=f"{began} Then {course.subject} left its usual range. Then {rest}",
        claims=(*case.claims, *_trouble_claims(worse)),
        chain=_in_order(case.chain[0], [*case.chain[1:], trouble]),
    )


# ---- no change -----------------------------------------------------------------------------------------


def _elsewhere(worse: Troubled) -> str:
    return f"service/{worse.dependency.namespace or '-'}/{worse.dependency.name}"


def _trouble_claims(worse: Troubled) -> tuple[Claim, ...]:
    full = worse.trouble.saturation
    return _sign_claims((worse.trouble.sign,)) if full is None else saturation_claims(full)


def _worse_elsewhere(found: Appraisal, signal: Course, worse: Troubled) -> Case:
    course = worse.trouble.sign.course
    text, claims, chain = _strained(found, signal)
    first = step(worse.trouble.at_ms, f"{course.subject} left its usual range.", course.cited)
    failing = worse.trouble.sign.role is Role.ERRORS
    return Case(
        Verdict.CAUSE_FOUND,
        "dependency.failing" if failing else "dependency.slow",
        _elsewhere(worse),
        f"{course.subject} left its usual range first.{text}",
        (*_trouble_claims(worse), *claims, *_no_changes(found)),
        _in_order(first, chain),
    )


def _surge(found: Appraisal, signal: Course, traffic: Sign) -> Case:
    text, claims, chain = _strained(found, signal)
    first = step(_rose(traffic), f"{traffic.course.subject} left its baseline.", traffic.course.cited)
    return Case(
        Verdict.CAUSE_FOUND,
        "traffic.surge",
        _own(found),
        f"{traffic.course.subject} rose first.{text}",
        (*_sign_claims((traffic,)), *claims, *_no_changes(found)),
        _in_order(first, chain),
    )


def _used_up(found: Appraisal, signal: Course) -> Case:
    saturation = found.saturations[0]
    used, limit = saturation.used, saturation.limit
    claims = (*saturation_claims(saturation), *_sign_claims((used,)), *map(novel_claim, found.novel[:MAX_NOVEL]))
    started = saturation.at_ms
    chain = [step(started, f"{used.course.subject} reached {limit.metric}.", used.course.cited, limit.course.cited)]
    if signal.onset is not None:
        chain.append(
            step(max(signal.onset.at_ms, started), f"{signal.subject} was away from its baseline.", signal.cited)
        )
    text = f"{used.course.subject} reached {limit.metric}, and {signal.subject} left its baseline."
    category = _resource_cause(used.metric)
    return Case(Verdict.CAUSE_FOUND, category, _own(found), text, (*claims, *_no_changes(found)), tuple(chain))


def _only_contributing(found: Appraisal, signal: Course) -> Case:
    mechanism, own = strain(found), next(iter(found.own_changes), None)
    claims = [*_sign_claims(mechanism), *map(novel_claim, found.novel[:MAX_NOVEL])]
    if own is not None:
        claims += change_claims(own, signal)
    claims += _no_changes(found)
    seen = [sign.course.subject for sign in mechanism] + (["new error lines in the log"] if found.novel else [])
    verdict = Verdict.CONTRIBUTING_ONLY if claims and (seen or own) else Verdict.INCONCLUSIVE
    if own is not None:
        seen.insert(0, f"the {named(own.suspect.change)}")
    text = (
        f"What moved together with {signal.subject}: {', '.join(seen)}. Which of it is the cause is not shown."
        if seen
        else f"{signal.subject} left its baseline, and nothing that was looked at moved before it."
    )
    return Case(verdict, UNKNOWN_CAUSE, "", text, tuple(claims), ())


def _resource_cause(metric: str) -> str:
    words = set(metric.lower().split("_"))
    return next((cause for known, cause in RESOURCE_CAUSES if words & known), "resource.exhausted")
