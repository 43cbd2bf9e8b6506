"""The analyst's diagnosis: what the appraisal adds up to, or why they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.siblings import Role
from inquest.domain.diagnosis import UNKNOWN_CAUSE, OnsetAt, Proposal, Remediation, RuledOut, Verdict
from inquest.domain.value import from_epoch_ms
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
    from inquest.investigators.analyst.appraisal import Appraisal, Sign
    from inquest.investigators.analyst.exhibit import Course

MAX_SIGNS = 4
MAX_NOVEL = 3
MAX_RULED_OUT = 5

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


class _Case(NamedTuple):
    """One explanation: its words, and its first step with what proves it."""

    verdict: Verdict
    category: str
    text: str
    claims: tuple[Claim, ...]
    chain: tuple[ChainStep, ...]


def propose(found: Appraisal | None) -> Proposal:
    """Give the diagnosis that `found` carries; inconclusive, naming what is missing, when it carries none."""
    if found is None:
        return Proposal(verdict=Verdict.INCONCLUSIVE, root_cause="The facts of the alert are not known.")
    signal = found.signal
    if signal is None:
        return _inconclusive(found, "The alert's own signal could not be looked at.")
    if signal.onset is None:
        return _without_onset(found, signal)
    case = _explain(found, signal)
    claims = (*onset_claims(signal), *case.claims)
    return Proposal(
        verdict=case.verdict,
        root_cause=case.text,
        root_cause_category=case.category,
        affected_object=_affected(found, case.verdict),
        onset=OnsetAt(at=from_epoch_ms(signal.onset.at_ms), citation=signal.cited),
        causal_chain=case.chain,
        claims=claims,
        ruled_out=_ruled_out(found),
        remediation_steps=_remediation(found, case),
        missing_evidence=found.gaps,
        next_checks=_next_checks(found, case),
    )


def _explain(found: Appraisal, signal: Course) -> _Case:
    """Take the first explanation that the evidence carries, strongest first."""
    mechanism = _mechanism(found)
    own = found.own_change
    if own is not None and (mechanism or found.novel):
        return _changed(found, signal, mechanism)
    if found.saturations:
        return _used_up(found, signal)
    traffic = [s for s in found.moved(Role.TRAFFIC) if s.course.onset and s.course.onset.direction == "up"]
    if traffic and found.moved(Role.SATURATION):
        return _surge(signal, traffic[0], found.moved(Role.SATURATION)[0])
    return _only_contributing(found, signal, mechanism)


def _mechanism(found: Appraisal) -> tuple[Sign, ...]:
    """Give what changed inside the service no later than the symptom: more in use, or a limit that moved."""
    return tuple(sign for sign in found.moved(Role.SATURATION, Role.LIMIT) if _is_strain(sign))[:MAX_SIGNS]


def _is_strain(sign: Sign) -> bool:
    return sign.course.onset is not None and (sign.role is Role.LIMIT or sign.course.onset.direction == "up")


def _changed(found: Appraisal, signal: Course, mechanism: tuple[Sign, ...]) -> _Case:
    own = found.own_change
    if own is None or signal.onset is None:
        return _only_contributing(found, signal, mechanism)
    change = own.suspect.change
    began = named(change)
    claims = [*change_claims(own, signal)]
    chain = [step(change.time, f"{began} began.", change_citation(own))]
    text = f"The {began} ({change.change_id}) came first."
    merged = found.behind(own)
    if merged is not None:
        claims.append(change_claims(merged, signal)[0])
        text = f"The {began} ({change.change_id}, with {merged.suspect.change.change_id}) came first."
    if found.saturations:
        saturation = found.saturations[0]
        claims += saturation_claims(saturation)
        text += f" Then {saturation.used.course.subject} reached {saturation.limit.metric}"
        chain.append(step(saturation.at_ms, f"{saturation.used.course.subject} reached its limit.",
                          saturation.used.course.cited, saturation.limit.course.cited))  # fmt: skip
    elif mechanism and mechanism[0].course.onset is not None:
        moved = mechanism[0].course
        text += f" Then {moved.subject} left its baseline"
        chain.append(step(mechanism[0].course.onset.at_ms, f"{moved.subject} left its baseline.", moved.cited))
    else:
        text += " Then new error lines appeared in the log"
    text += f", and {signal.subject} with it."
    chain.append(step(signal.onset.at_ms, f"{signal.subject} left its baseline.", signal.cited))
    claims += [*_sign_claims(mechanism), *map(novel_claim, found.novel[:MAX_NOVEL])]
    ordered = (chain[0], *sorted(chain[1:], key=lambda one: one.at))
    return _Case(Verdict.CAUSE_FOUND, f"change.{_kind(change.change)}", text, tuple(claims), ordered)


def _kind(change: str) -> str:
    return {"deployment": "deployment", "config": "configuration", "scaling": "scaling", "node": "node"}.get(
        change, "release"
    )


def _used_up(found: Appraisal, signal: Course) -> _Case:
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
    no_change = tuple(no_change_claim(one) for one in found.changes_answered if _is_empty(one.content))
    return _Case(Verdict.CAUSE_FOUND, _resource_cause(used.metric), text, (*claims, *no_change), tuple(chain))


def _surge(signal: Course, traffic: Sign, resource: Sign) -> _Case:
    claims = (*_sign_claims((traffic, resource)),)
    chain = [
        step(sign.course.onset.at_ms, f"{sign.course.subject} left its baseline.", sign.course.cited)
        for sign in (traffic, resource)
        if sign.course.onset
    ]
    if signal.onset is not None:
        chain.append(step(signal.onset.at_ms, f"{signal.subject} left its baseline.", signal.cited))
    text = f"{traffic.course.subject} rose first, then {resource.course.subject} and {signal.subject}."
    ordered = tuple(sorted(chain, key=lambda one: one.at))
    return _Case(Verdict.CAUSE_FOUND, "traffic.surge", text, claims, ordered)


def _only_contributing(found: Appraisal, signal: Course, mechanism: tuple[Sign, ...]) -> _Case:
    claims = [*_sign_claims(mechanism), *map(novel_claim, found.novel[:MAX_NOVEL])]
    own = found.own_change
    if own is not None:
        claims += change_claims(own, signal)
    claims += [no_change_claim(one) for one in found.changes_answered if _is_empty(one.content)]
    seen = [sign.course.subject for sign in mechanism] + (["new error lines in the log"] if found.novel else [])
    verdict = Verdict.CONTRIBUTING_ONLY if claims and (seen or own) else Verdict.INCONCLUSIVE
    if own is not None:
        seen.insert(0, f"the {named(own.suspect.change)}")
    text = (
        f"What moved together with {signal.subject}: {', '.join(seen)}. Which of it is the cause is not shown."
        if seen
        else f"{signal.subject} left its baseline, and nothing that was looked at moved before it."
    )
    return _Case(verdict, UNKNOWN_CAUSE, text, tuple(claims), ())


def _sign_claims(signs: tuple[Sign, ...]) -> tuple[Claim, ...]:
    return tuple(claim for sign in signs for claim in onset_claims(sign.course))


def _resource_cause(metric: str) -> str:
    words = set(metric.lower().split("_"))
    return next((cause for known, cause in RESOURCE_CAUSES if words & known), "resource.exhausted")


def _is_empty(content: object) -> bool:
    return getattr(content, "changes", None) == ()


def _affected(found: Appraisal, verdict: Verdict) -> str:
    if verdict is not Verdict.CAUSE_FOUND or not found.service.service_id:
        return ""
    kind = "deployment" if found.service.workload else "service"
    return f"{kind}/{found.service.namespace or '-'}/{found.service.workload or found.service.service_id}"


def _ruled_out(found: Appraisal) -> tuple[RuledOut, ...]:
    """Say which changes were near in time and are not blamed."""
    others = [one for one in found.changes if one is not found.own_change and not one.suspect.is_own]
    return tuple(
        RuledOut(
            hypothesis=f"the {named(one.suspect.change)} is the cause",
            reason="It is a change of something else, and nothing connects it to the service.",
            citations=(change_citation(one),),
        )
        for one in others[:MAX_RULED_OUT]
        if one.suspect.change.change == "deployment"
    )


def _remediation(found: Appraisal, case: _Case) -> tuple[Remediation, ...]:
    if case.verdict is not Verdict.CAUSE_FOUND:
        return ()
    if case.category.startswith("change."):
        return (Remediation(text="Roll the change back, after checking that nothing depends on it.", risk="medium"),)
    if case.category.startswith(("resource.", "queue.")) and found.saturations:
        return (Remediation(text="Raise the limit or lower the demand on it; find out what holds it.", risk="medium"),)
    return (Remediation(text="Shed or spread the load until the resource recovers.", risk="medium"),)


def _next_checks(found: Appraisal, case: _Case) -> tuple[str, ...]:
    if case.verdict is Verdict.CAUSE_FOUND:
        return ("See whether the alert's signal returns to its baseline after the step above.",)
    checks = [f"Connect or repair what is missing: {gap}." for gap in found.gaps]
    return (*checks, "Look at what the service calls, and at what else changed in that hour.")


def _without_onset(found: Appraisal, signal: Course) -> Proposal:
    """Say healthy only for an ended alert whose own signal was seen and is at its baseline."""
    if any(value is not None for _, value in signal.points) and not found.novel and not found.is_firing:
        return Proposal(
            verdict=Verdict.HEALTHY,
            root_cause="The alert's own signal stays at its baseline, and nothing else moved.",
            missing_evidence=found.gaps,
        )
    return _inconclusive(found, "The alert's own signal shows no onset that lasts.")


def _inconclusive(found: Appraisal, why: str) -> Proposal:
    claims = tuple(map(novel_claim, found.novel[:MAX_NOVEL]))
    missing = (why, *found.gaps)
    return Proposal(
        verdict=Verdict.INCONCLUSIVE,
        root_cause=why,
        claims=claims,
        missing_evidence=missing,
        next_checks=tuple(f"Connect or repair what is missing: {gap}." for gap in found.gaps)
        or ("Check by hand that the alert's expression still returns data.",),
    )
