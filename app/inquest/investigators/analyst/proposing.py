"""The analyst's diagnosis: what the appraisal adds up to, or why they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.analysis.siblings import Role
from inquest.analysis.suspects import belongs_to
from inquest.domain.diagnosis import OnsetAt, Proposal, Remediation, RuledOut, Verdict
from inquest.domain.value import epoch_ms, from_epoch_ms
from inquest.investigators.analyst.blame import blamed_change, surge, troubled
from inquest.investigators.analyst.cases import MAX_NOVEL, explain
from inquest.investigators.analyst.wording import change_citation, named, novel_claim, onset_claims
from inquest.stages.health import NORMAL_BEFORE

if TYPE_CHECKING:
    from inquest.investigators.analyst.appraisal import Appraisal
    from inquest.investigators.analyst.cases import Case
    from inquest.investigators.analyst.changes import SuspectChange
    from inquest.investigators.analyst.exhibit import Course

MAX_RULED_OUT = 5
SYMPTOMS = frozenset({Role.ERRORS, Role.LATENCY})
"""What can stand in for a signal that no connected source holds."""


def propose(found: Appraisal | None) -> Proposal:
    """Give the diagnosis that `found` carries; inconclusive, naming what is missing, when it carries none."""
    if found is None:
        return Proposal(verdict=Verdict.INCONCLUSIVE, root_cause="The facts of the alert are not known.")
    signal = found.signal
    if signal is None:
        return _inconclusive(found, _why_no_signal(found))
    if signal.onset is None:
        return _without_onset(found, signal)
    case = explain(found, signal)
    claims = (*onset_claims(signal), *case.claims)
    return Proposal(
        verdict=case.verdict,
        root_cause=case.text,
        root_cause_category=case.category,
        affected_object=case.affected_object,
        onset=OnsetAt(at=from_epoch_ms(signal.onset.at_ms), citation=signal.cited),
        causal_chain=case.chain,
        claims=claims,
        ruled_out=_ruled_out(found),
        remediation_steps=_remediation(found, case),
        missing_evidence=found.gaps,
        next_checks=_next_checks(found, case),
    )


def _ruled_out(found: Appraisal) -> tuple[RuledOut, ...]:
    """Say which deployments were near in time and are not blamed, and why."""
    worse = troubled(found)
    blamed = {
        one.suspect.change.change_id
        for one in (blamed_change(found), None if worse is None else worse.change)
        if one is not None
    }
    near = [one for one in found.changes if one.suspect.change.change == "deployment"]
    explained = [
        RuledOut(
            hypothesis=f"the {named(one.suspect.change)} is the cause", reason=reason, citations=(change_citation(one),)
        )
        for one in near
        if one.suspect.change.change_id not in blamed and (reason := _why_not(found, one))
    ]
    return tuple(explained[:MAX_RULED_OUT])


def _why_not(found: Appraisal, change: SuspectChange) -> str:
    """Say why a deployment is not the cause, "" where that is not known."""
    if change.suspect.is_own:
        other = troubled(found) is not None or surge(found) is not None
        return "Something else explains the trouble, and came closer to it." if other else ""
    called = next((one for one in found.dependencies if belongs_to(change.suspect.change, one.name)), None)
    if called is None:
        return "It is a change of something else, and nothing connects it to the service."
    return "The service calls it, and it stayed at its baseline." if called.signs and not called.troubles else ""


def _remediation(found: Appraisal, case: Case) -> tuple[Remediation, ...]:
    if case.verdict is not Verdict.CAUSE_FOUND:
        return ()
    if case.category.startswith("change."):
        return (Remediation(text="Roll the change back, after checking that nothing depends on it.", risk="medium"),)
    if case.category.startswith(("resource.", "queue.")) and found.saturations:
        return (Remediation(text="Raise the limit or lower the demand on it; find out what holds it.", risk="medium"),)
    if case.category.startswith("dependency."):
        text = "Repair or relieve what the service calls; until then fail early instead of waiting for it."
        return (Remediation(text=text, risk="medium"),)
    return (Remediation(text="Shed or spread the load until the resource recovers.", risk="medium"),)


def _next_checks(found: Appraisal, case: Case) -> tuple[str, ...]:
    if case.verdict is Verdict.CAUSE_FOUND:
        return ("See whether the alert's signal returns to its baseline after the step above.", *_unconnected(found))
    checks = [f"Connect or repair what is missing: {gap}." for gap in found.gaps]
    return (*checks, "Look at what the service calls, and at what else changed in that hour.")


def _unconnected(found: Appraisal) -> tuple[str, ...]:
    """Ask about changes of the service before the trouble that are neither blamed nor ruled out."""
    if blamed_change(found) is not None:
        return ()
    return tuple(
        f"Ask who made the {named(one.suspect.change)} whether the trouble comes of it: only the order of time says so."
        for one in found.own_changes
        if not _why_not(found, one)
    )[:1]


def _without_onset(found: Appraisal, signal: Course) -> Proposal:
    """Say healthy only for an ended alert whose own signal was seen and is at its baseline.

    What a young series begins with may be the trouble itself: it is no baseline.
    """
    if not signal.baseline or signal.baseline[-1][0] > epoch_ms(found.window.anchor - NORMAL_BEFORE):
        return _inconclusive(found, "The alert's own signal was not seen long enough before it fired.")
    if any(value is not None for _, value in signal.points) and not found.novel and not found.is_firing:
        return Proposal(
            verdict=Verdict.HEALTHY,
            root_cause="The alert's own signal stays at its baseline, and nothing else moved.",
            missing_evidence=found.gaps,
        )
    return _inconclusive(found, "The alert's own signal shows no onset that lasts.")


def _why_no_signal(found: Appraisal) -> str:
    """Say why there is no symptom. Where no connected source measures it, errors and latency could stand in for it."""
    young = [one for one in found.begun_lately if one.role in SYMPTOMS]
    steady = [one for one in found.signs if one.role in SYMPTOMS]
    if found.measured or not (young or steady):
        return "The alert's own signal could not be looked at."
    if young:
        seen = f"{young[0].course.subject} was not seen long enough before the alert fired to tell what is normal"
    else:
        seen = "the service's errors and latency that could be looked at stayed at their baseline"
    return f"The alert's own signal is measured where nothing is connected, and {seen}."


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
