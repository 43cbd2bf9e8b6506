"""Checking a finished report again, from its evidence alone: the same rules that made its diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from inquest.domain.diagnosis import Proposal, Verdict
from inquest.stages.exhibits import Exhibits
from inquest.stages.verdict import Basis, conclude

if TYPE_CHECKING:
    from inquest.domain.diagnosis import Diagnosis
    from inquest.domain.report import Report

COMPARED = (
    "verdict", "root_cause_category", "affected_object", "onset", "causal_chain", "validated_claims",
    "non_validated_claims", "ruled_out", "remediation_steps", "validity_score",
)  # fmt: skip
"""Parts of a diagnosis that follow from its evidence: what is left out or downgraded is not, it was never kept."""


def recheck(report: Report, contents: Mapping[str, bytes], *, complete: bool = True) -> tuple[str, ...]:
    """Check a report against the full contents of its evidence; give what does not hold, in order.

    Every envelope must have the identity it claims, every confirmed claim must be confirmed again, every other
    one must fail for the reason given, and verdict and score must be the ones that the rules give. Without
    `complete` contents it is not checked which steps were read in evidence.
    """
    return (*_identities(report), *_diagnosis(report, contents, complete=complete))


def uncheckable(report: Report, missing: frozenset[str]) -> bool:
    """Say whether the diagnosis rests on a content that is in `missing` (digests).

    It rests on what it cites; "healthy" rests on all that was seen.
    """
    diagnosis = report.diagnosis
    if diagnosis is None:
        return False
    if diagnosis.verdict is Verdict.HEALTHY and missing:
        return True
    unvalidated = tuple(one.claim for one in diagnosis.non_validated_claims)
    parts = (*diagnosis.causal_chain, *diagnosis.validated_claims, *unvalidated, *diagnosis.ruled_out)
    cited = {citation.content_digest for part in parts for citation in part.citations}
    onset = set() if diagnosis.onset is None else {diagnosis.onset.citation.content_digest}
    return bool((cited | onset) & missing)


def _identities(report: Report) -> Iterator[str]:
    names: set[str] = set()
    for item in report.evidence:
        if item.name in names:
            yield f"{item.name}: two pieces of evidence have this name"
        names.add(item.name)
        if item.observation.observation_id != item.observation_id:
            yield f"{item.name}: the envelope does not have the identity it claims"


def _diagnosis(report: Report, contents: Mapping[str, bytes], *, complete: bool) -> Iterator[str]:
    recorded = report.diagnosis
    if recorded is None:
        return
    basis = Basis(
        exhibits=Exhibits(report.evidence, contents, report.window),
        coverage=report.coverage,
        ledger=report.ledger,
        facts=report.facts,
        service=report.service_guess,
    )
    again = conclude(_as_proposed(recorded), basis)
    if again.downgraded:
        yield f"verdict: {again.downgraded}"
    for name in COMPARED:
        if name == "remediation_steps" and not complete:
            continue
        if getattr(again, name) != getattr(recorded, name):
            yield from _differences(name, recorded, again)


def _as_proposed(diagnosis: Diagnosis) -> Proposal:
    claims = (*diagnosis.validated_claims, *(one.claim for one in diagnosis.non_validated_claims))
    return Proposal(
        verdict=diagnosis.verdict,
        root_cause=diagnosis.root_cause,
        root_cause_category=diagnosis.root_cause_category,
        affected_object=diagnosis.affected_object,
        onset=diagnosis.onset,
        causal_chain=diagnosis.causal_chain,
        claims=claims,
        ruled_out=diagnosis.ruled_out,
        remediation_steps=tuple(step.but(from_evidence=False) for step in diagnosis.remediation_steps),
        missing_evidence=diagnosis.missing_evidence,
        next_checks=diagnosis.next_checks,
        author=diagnosis.author,
    )


def _differences(name: str, recorded: Diagnosis, again: Diagnosis) -> Iterator[str]:
    """Say what differs in one part; of claims, which ones and why."""
    if name != "validated_claims":
        yield f"{name}: the rules give another result than the report says"
        return
    confirmed = set(again.validated_claims)
    reasons = {one.claim: one.reason for one in again.non_validated_claims}
    for number, claim in enumerate(recorded.validated_claims, start=1):
        if claim not in confirmed:
            yield f"claim {number} ({claim.type}): {reasons.get(claim, 'it is not confirmed again')}"
    if len(again.validated_claims) > len(recorded.validated_claims):
        yield "validated_claims: a claim that was not confirmed now is"
