"""The report: one value for every kind of revision, from what is recorded and where the episode stands now.

Report = f(terminal projection, state of the episode). Nothing else enters: no clock, no configuration, no
model text that is not in the diagnosis.
"""

from __future__ import annotations

from typing import Literal

from inquest.domain.budget import Limits, Spend
from inquest.domain.delivery import RevisionKind
from inquest.domain.episode import Episode
from inquest.domain.evidence import Asked, CoverageRow, EvidenceItem, Excluded
from inquest.domain.hypothesis import Ledger
from inquest.domain.investigation import Investigation
from inquest.domain.report import EarlierEpisode, EvidenceLink, Report, Signature
from inquest.domain.value import Instant, Value
from inquest.stages.coverage import coverage
from inquest.stages.present import why_not_now

UNREVISED = 0
"""The revision number of a report that is not (yet) a revision of any destination."""


class ReportInputs(Value):
    """What is recorded of an investigation: all of it from its row and its journal.

    `investigation` is None before it was first claimed. `ended_at` and what follows belong to the terminal
    event.
    """

    investigation_id: str
    workspace: str
    investigation: Investigation | None = None
    ledger: Ledger = Ledger()
    evidence: tuple[EvidenceItem, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    asked: tuple[Asked, ...] = ()
    links: tuple[EvidenceLink, ...] = ()
    spend: Spend = Spend()
    stop_reason: str = ""
    ended_at: Instant | None = None
    terminal_digest: str | None = None
    signature: Signature | None = None


class EpisodeNow(Value):
    """Where the trouble stands when a revision is built, and how earlier episodes of the group ended.

    `is_firing` says whether a member fires, listed in `episode` or not; None: nobody looked beyond those listed.
    """

    episode: Episode
    is_firing: bool | None = None
    resolved_at: Instant | None = None
    earlier: tuple[EarlierEpisode, ...] = ()

    @property
    def state(self) -> Literal["firing", "resolved"]:
        """Say whether a member still fires."""
        fires = bool(self.episode.firing) if self.is_firing is None else self.is_firing
        return "firing" if fires else "resolved"


def build_report(inputs: ReportInputs, now: EpisodeNow, *, revision: int, kind: RevisionKind, note: str = "") -> Report:
    """Build the report of one revision. `note` is what the revision says beside its kind."""
    state = inputs.investigation
    facts = None if state is None else state.facts
    alert = now.episode.primary.alert
    diagnosis = None if state is None else state.diagnosis
    gathered = None if state is None else state.gathered
    return Report(
        investigation_id=inputs.investigation_id,
        workspace=inputs.workspace,
        revision=revision,
        kind=kind.value,
        note=note,
        title=facts.alert_name if facts is not None else alert.name,
        service=facts.service if facts is not None else alert.labels.get("service", ""),
        severity=facts.severity if facts is not None else alert.severity,
        episode=now.episode,
        episode_state=now.state,
        resolved_at=now.resolved_at if now.state == "resolved" else None,
        window=None if facts is None else facts.window,
        facts=facts,
        service_guess=None if state is None or state.integrations is None else state.integrations.service,
        started_at=None if state is None else state.started_at,
        ended_at=inputs.ended_at,
        diagnosis=diagnosis,
        ledger=inputs.ledger,
        evidence=inputs.evidence,
        excluded=inputs.excluded,
        coverage=() if state is None else _coverage(inputs, state),
        questions=() if state is None else state.questions,
        links=tuple(link for link in inputs.links if link.url),
        earlier=now.earlier,
        spend=inputs.spend,
        limits=Limits() if state is None else state.limits,
        budget=None if state is None or state.plan is None else state.plan.budget,
        limits_hit=() if gathered is None else gathered.limits_hit,
        stop_reason=inputs.stop_reason or ("" if gathered is None else gathered.stop_reason),
        model=_models(state),
        workflow="" if state is None else state.identity.workflow_id,
        terminal_digest=inputs.terminal_digest,
        signature=inputs.signature,
    )


def _coverage(inputs: ReportInputs, state: Investigation) -> tuple[CoverageRow, ...]:
    not_now = why_not_now(state.facts, state.started_at)
    return coverage(inputs.asked, inputs.evidence, inputs.excluded, state.integrations, not_now=not_now)


def _models(state: Investigation | None) -> str:
    """Name who was asked, and who concluded where that is somebody else."""
    if state is None:
        return ""
    asked = ", ".join(state.models)
    author = "" if state.diagnosis is None else state.diagnosis.author
    return asked if not author or author in state.models else f"{asked} (concluded by {author})"
