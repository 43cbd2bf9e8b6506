"""From a proposal to a diagnosis: every claim is checked, and the verdict is no more than they carry.

`cause_found` needs a cause whose first step is evidenced and precedes a shown onset, and two independent
sources or one decisive observation. What falls short is not thrown away: it is downgraded, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquest.analysis.decisive import STATE_FIELDS, decisive_series, decisive_state
from inquest.domain.claim import Unvalidated
from inquest.domain.diagnosis import CAUSE_FAMILIES, UNKNOWN_CAUSE, Diagnosis, Verdict
from inquest.stages.chain import check_chain, check_onset_at, check_ruled_out, is_ordered, shorten
from inquest.stages.claim_ground import known_objects
from inquest.stages.claim_text import Ground, unsupported
from inquest.stages.claims import show
from inquest.stages.coverage import answered_share
from inquest.stages.exhibits import NotShown
from inquest.stages.health import why_not_healthy
from inquest.stages.quoting import number_in
from inquest.stages.remediation import mark_from_evidence
from inquest.stages.scoring import ScoreInputs, validity_score
from inquest.stages.sources import independent_sources, integrations_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquest.domain.diagnosis import OnsetAt, Proposal, Remediation
    from inquest.domain.evidence import CoverageRow
    from inquest.domain.hypothesis import Ledger
    from inquest.domain.investigation import Facts, ServiceGuess
    from inquest.stages.chain import CheckedChain
    from inquest.stages.claims import Shown
    from inquest.stages.exhibits import Cited, Exhibits
    from inquest.stages.scoring import TimeOrder

ENOUGH_SOURCES = 2
MAX_NOTES = 40


@dataclass(frozen=True)
class Basis:
    """What a proposal is judged on, beside itself."""

    exhibits: Exhibits
    coverage: tuple[CoverageRow, ...]
    ledger: Ledger
    facts: Facts | None = None
    service: ServiceGuess | None = None


@dataclass(frozen=True)
class _Judged:
    """What checking found, before the verdict."""

    shown: tuple[Shown, ...]
    unvalidated: tuple[Unvalidated, ...]
    contradicted: int
    chain: CheckedChain
    onset: OnsetAt | None
    ground: Ground

    @property
    def cited(self) -> list[Cited]:
        return [*(one for shown in self.shown for one in shown.cited), *self.chain.cited]


def conclude(proposal: Proposal, basis: Basis, *, degraded: str = "", notes: Sequence[str] = ()) -> Diagnosis:
    """Check `proposal` and give the diagnosis that the evidence carries; `notes` stand before those found here."""
    known = known_objects(basis.exhibits)
    said = [*notes]
    judged = _judge(proposal, basis, known, said)
    category = _category(proposal, said)
    verdict, downgraded = _verdict(proposal, basis, judged, category)
    ruled_out, more = check_ruled_out(proposal.ruled_out, basis.exhibits, known)
    said += more
    affected = proposal.affected_object if _is_named(proposal.affected_object, judged.ground) else ""
    if affected != proposal.affected_object:
        said.append(f"the object named is in no evidence: {shorten(proposal.affected_object)}")
    return Diagnosis(
        verdict=verdict,
        root_cause=_confirmed_text(proposal, verdict, judged, said),
        root_cause_category=category,
        affected_object=affected,
        onset=judged.onset,
        causal_chain=judged.chain.steps,
        validated_claims=tuple(shown.claim for shown in judged.shown),
        non_validated_claims=judged.unvalidated,
        ruled_out=ruled_out,
        remediation_steps=mark_from_evidence(
            _steps_that_follow(proposal, verdict, said), basis.exhibits.contents, _own_names(basis.service)
        ),
        missing_evidence=proposal.missing_evidence,
        next_checks=proposal.next_checks,
        validity_score=_score(judged, basis, category),
        author=proposal.author,
        degraded=degraded,
        downgraded=downgraded,
        notes=_bounded(said),
    )


def _steps_that_follow(proposal: Proposal, verdict: Verdict, said: list[str]) -> tuple[Remediation, ...]:
    """Keep the steps where something is known; of an inconclusive end no step follows, whoever proposes it (T05)."""
    if verdict is not Verdict.INCONCLUSIVE or not proposal.remediation_steps:
        return proposal.remediation_steps
    said.append(
        f"{len(proposal.remediation_steps)} remediation steps are left out: nothing was shown that they follow from"
    )
    return ()


def _judge(proposal: Proposal, basis: Basis, known: frozenset[str], said: list[str]) -> _Judged:
    shown: list[Shown] = []
    unvalidated: list[Unvalidated] = []
    contradicted = 0
    ground = Ground(known=known)
    for claim in proposal.claims:
        try:
            found = show(claim, basis.exhibits, known)
        except NotShown as missing:
            unvalidated.append(Unvalidated(claim=claim, reason=missing.reason))
            contradicted += missing.contradicted
        else:
            shown.append(found)
            ground = ground | found.ground
    onset = None
    if proposal.onset is not None:
        try:
            check_onset_at(proposal.onset, basis.exhibits)
            onset = proposal.onset
            ground = ground | Ground(moments=frozenset({onset.at}))
        except NotShown as missing:
            said.append(f"the onset is left out: {missing.reason}")
    chain = check_chain(proposal.causal_chain, basis.exhibits, ground)
    said.extend(chain.notes)
    return _Judged(tuple(shown), tuple(unvalidated), contradicted, chain, onset, ground | chain.ground)


def _verdict(proposal: Proposal, basis: Basis, judged: _Judged, category: str) -> tuple[Verdict, str]:
    """Give the verdict that holds, and why it is not the proposed one."""
    fallback = Verdict.CONTRIBUTING_ONLY if judged.shown else Verdict.INCONCLUSIVE
    reason: str | None = None
    match proposal.verdict:
        case Verdict.CAUSE_FOUND:
            reason = next(_objections(proposal, judged, category), None)
        case Verdict.CONTRIBUTING_ONLY:
            reason = None if judged.shown else "no claim could be validated"
        case Verdict.HEALTHY:
            fallback = Verdict.INCONCLUSIVE
            depends_on = () if basis.service is None else basis.service.depends_on
            reason = why_not_healthy(basis.facts, basis.exhibits.items, basis.exhibits.contents, depends_on)
        case Verdict.INCONCLUSIVE:
            pass
    if reason is None:
        return proposal.verdict, ""
    return fallback, f"{proposal.verdict.value} was proposed, but {reason}"


def _objections(proposal: Proposal, judged: _Judged, category: str) -> Iterator[str]:
    """Say, worst first, why the root cause is not validated; nothing when it is."""
    if not proposal.root_cause.strip():
        yield "no cause is named"
    if not judged.shown:
        yield "no claim could be validated"
    if not judged.chain.first_holds:
        yield "the first step of the chain, the cause itself, is not confirmed by evidence"
    proven = {one.item.name for shown in judged.shown for one in shown.cited}
    if not proven & {citation.evidence for citation in judged.chain.steps[0].citations}:
        yield "no validated claim is about the evidence of the cause"
    if judged.onset is None:
        yield "it is not shown when the trouble began"
    if _time_order(judged) != "holds":
        yield "the cause does not precede the onset"
    if not _is_named(proposal.affected_object, judged.ground):
        yield "the object it names is in no evidence"
    reason = unsupported(proposal.root_cause, judged.ground)
    if reason is not None:
        yield f"its text says more than the evidence: {reason}"
    if independent_sources(judged.cited) < ENOUGH_SOURCES and not _is_decided(judged, category):
        yield "it rests on one source, and no observation decides it alone"


def _time_order(judged: _Judged) -> TimeOrder:
    """Say whether chain and onset are in order: what comes after a symptom has not caused it."""
    steps = judged.chain.steps
    if not steps or judged.onset is None:
        return "unknown"
    in_order = is_ordered(steps) and steps[0].at <= judged.onset.at
    return "holds" if in_order else "violated"


def _is_decided(judged: _Judged, category: str) -> bool:
    """Say whether a validated claim cites an observation that decides this family of causes alone."""
    family = category.split(".", maxsplit=1)[0]
    causes = [_decisive(one) for shown in judged.shown for one in shown.cited]
    return any(cause is not None and cause.split(".", maxsplit=1)[0] == family for cause in causes)


def _decisive(cited: Cited) -> str | None:
    place = cited.place
    if isinstance(place.value, str) and place.steps and place.steps[-1] in STATE_FIELDS:
        return decisive_state(cited.item.observation.signal, place.value)
    record = place.series or place.record or {}
    labels = record.get("labels")
    if not isinstance(labels, dict) or cited.item.observation.signal != "metrics":
        return None
    value = number_in(place.point[1] if place.point is not None else record.get("value"))
    texts = {name: str(text) for name, text in labels.items()}
    return decisive_series(texts, None if value is None else float(value))


def _score(judged: _Judged, basis: Basis, category: str) -> float:
    family = category.split(".", maxsplit=1)[0]
    refuted = any(
        entry.judgement == "refuted" and entry.hypothesis.category.split(".", maxsplit=1)[0] == family
        for entry in basis.ledger.entries
    )
    return validity_score(
        ScoreInputs(
            validated=len(judged.shown),
            non_validated=len(judged.unvalidated),
            independent_sources=independent_sources(judged.cited),
            integrations=len(integrations_of(one.item.observation for one in judged.cited)),
            time_order=_time_order(judged),
            contradictions=judged.contradicted + refuted,
            coverage=answered_share(basis.coverage),
        )
    )


def _category(proposal: Proposal, said: list[str]) -> str:
    family, _, cause = proposal.root_cause_category.partition(".")
    if cause and (family in CAUSE_FAMILIES or family == "other"):
        return proposal.root_cause_category
    said.append(f"the category is none of ours: {shorten(proposal.root_cause_category)}")
    return UNKNOWN_CAUSE


def _confirmed_text(proposal: Proposal, verdict: Verdict, judged: _Judged, said: list[str]) -> str:
    """Keep the summary; where it is not a cause found, note what in it the evidence does not hold."""
    if verdict is not Verdict.CAUSE_FOUND and proposal.root_cause.strip():
        reason = unsupported(proposal.root_cause, judged.ground)
        if reason is not None:
            said.append(f"the summary is its author's, not confirmed: {reason}")
    return proposal.root_cause


def _is_named(affected_object: str, ground: Ground) -> bool:
    """Say whether the name part of kind/namespace/name is said in evidence; "" names nothing."""
    name = affected_object.rsplit("/", maxsplit=1)[-1].strip()
    return not affected_object.strip() or (bool(name) and ground.says(name))


def _own_names(service: ServiceGuess | None) -> tuple[str, ...]:
    """Give the names that come from our own catalogue, not from an alert."""
    if service is None or service.how != "catalogue":
        return ()
    return (service.service_id, service.namespace, service.workload, service.repository)


def _bounded(notes: Sequence[str]) -> tuple[str, ...]:
    if len(notes) <= MAX_NOTES:
        return tuple(notes)
    return (*notes[:MAX_NOTES], f"{len(notes) - MAX_NOTES} more notes are not shown")
