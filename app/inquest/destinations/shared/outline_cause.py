"""The section on the cause: verdict, confidence, chain, and which claims carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.destinations.shared.page import (
    Block,
    Bullets,
    Line,
    Paragraph,
    Plain,
    Section,
    Strong,
    cited,
    code,
    foreign,
)
from inquest.destinations.shared.words import VERDICTS, moment, plural
from inquest.domain.claim import Absent, Present
from inquest.stages.claims import render
from inquest.stages.scoring import CEILING_OF_ONE, ceiling
from inquest.stages.sources import integrations_of

if TYPE_CHECKING:
    from inquest.domain.claim import Claim
    from inquest.domain.diagnosis import Diagnosis
    from inquest.domain.report import Report

NO_DIAGNOSIS = "There is no diagnosis."


def verdict_line(report: Report) -> Line:
    """Say the verdict in one line."""
    if report.diagnosis is None:
        return (Strong("No verdict"),)
    return _verdict(report.diagnosis)


def summary_line(report: Report) -> Line:
    """Say what a reader who reads one line must know: the cause, or that there is none."""
    diagnosis = report.diagnosis
    if diagnosis is None or diagnosis.verdict.value != "cause_found":
        return verdict_line(report)
    said = VERDICTS[diagnosis.verdict.value]
    return (Strong(said.word), Plain(": "), foreign(diagnosis.root_cause))


def _verdict(diagnosis: Diagnosis) -> Line:
    said = VERDICTS[diagnosis.verdict.value]
    return (Strong(said.word), Plain(f": {said.meaning}"))


def cause_section(report: Report) -> Section:
    """Lay out cause and confidence."""
    title = "Cause and confidence"
    diagnosis = report.diagnosis
    if diagnosis is None:
        return Section(title, (Paragraph((Plain(NO_DIAGNOSIS),)),))
    blocks: list[Block] = [Paragraph(verdict_line(report))]
    if diagnosis.root_cause:
        blocks.append(Paragraph((Strong(_label(diagnosis)), Plain(": "), foreign(diagnosis.root_cause))))
    if diagnosis.downgraded:
        blocks.append(Paragraph((Strong("Why it is not more"), Plain(": "), foreign(diagnosis.downgraded), Plain("."))))
    blocks.append(Bullets(_facts(report, diagnosis)))
    if diagnosis.causal_chain:
        steps = tuple(
            (Plain(f"{moment(step.at)}: "), foreign(step.text), *cited(step.citations))
            for step in diagnosis.causal_chain
        )
        blocks += [Paragraph((Strong("From cause to symptom"),)), Bullets(steps)]
    blocks += _claims(diagnosis)
    return Section(title, tuple(blocks))


def _label(diagnosis: Diagnosis) -> str:
    """Say how far the summary is proven, in the words that stand before it."""
    return (
        "Root cause" if diagnosis.verdict.value == "cause_found" else "Its author's summary, not confirmed as the cause"
    )


def _facts(report: Report, diagnosis: Diagnosis) -> tuple[Line, ...]:
    total = len(diagnosis.validated_claims) + len(diagnosis.non_validated_claims)
    rows: list[Line] = [
        (
            Plain("Confidence: validity score "),
            Strong(f"{diagnosis.validity_score:.3f}"),
            Plain(f" of 1{_ceiling(report)}; {len(diagnosis.validated_claims)} of {total} claims confirmed by code"),
        ),
        (Plain("Category: "), code(diagnosis.root_cause_category)),
    ]
    if diagnosis.affected_object:
        rows.append((Plain("Affected object: "), code(diagnosis.affected_object)))
    if diagnosis.onset is not None:
        rows.append((Plain("Onset: "), Strong(moment(diagnosis.onset.at)), *cited([diagnosis.onset.citation])))
    rows.append((Plain("Concluded by: "), code(diagnosis.author)))
    return tuple(rows)


def _ceiling(report: Report) -> str:
    """Say what keeps the score below 1 however much was shown: all of it came through one integration."""
    diagnosis = report.diagnosis
    if diagnosis is None or not diagnosis.validated_claims:
        return ""
    parts = (*diagnosis.validated_claims, *diagnosis.causal_chain)
    cited = {citation.evidence for part in parts for citation in part.citations}
    through = integrations_of(item.observation for item in report.evidence if item.name in cited)
    if ceiling(len(through)) == 1:
        return ""
    return f" ({CEILING_OF_ONE:.3f} at most: the evidence is of {plural(len(through), 'source')})"


def _claims(diagnosis: Diagnosis) -> list[Block]:
    blocks: list[Block] = []
    if diagnosis.validated_claims:
        confirmed = tuple((*_claim(claim), *cited(claim.citations)) for claim in diagnosis.validated_claims)
        blocks += [Paragraph((Strong("Confirmed claims"),)), Bullets(confirmed)]
    if diagnosis.non_validated_claims:
        not_confirmed = tuple(
            (*_claim(one.claim), *cited(one.claim.citations), Plain(" not confirmed: "), foreign(one.reason))
            for one in diagnosis.non_validated_claims
        )
        blocks += [Paragraph((Strong("Claims that code could not confirm"),)), Bullets(not_confirmed)]
    if diagnosis.notes:
        notes = tuple((foreign(note),) for note in diagnosis.notes)
        blocks += [Paragraph((Strong("Left out of what was proposed"),)), Bullets(notes)]
    return blocks


def _claim(claim: Claim) -> Line:
    """Word a claim: its own sentence, but what code quotes from evidence stands as it is there."""
    if claim.text != render(claim):
        return (foreign(claim.text),)
    match claim:
        case Present(fragment=quoted) | Absent(query=quoted):
            return (foreign(claim.text.removesuffix(quoted).strip()), Plain(" "), code(quoted))
        case _:
            return (foreign(claim.text),)
