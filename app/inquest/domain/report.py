"""The report: one value from which every form is rendered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inquest.domain.budget import Limits, PlanBudget, Spend
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.episode import Episode
from inquest.domain.evidence import CoverageRow, EvidenceItem, Excluded
from inquest.domain.hypothesis import Ledger
from inquest.domain.investigation import Facts, ServiceGuess
from inquest.domain.question import Question
from inquest.domain.value import Instant, Value
from inquest.domain.window import IncidentWindow

REPORT_VERSION: Literal[1] = 1
MANIFEST_CONTEXT = b"inquest manifest 1\n"
"""Stands before what is signed of a folder, so that no signature of a digest passes for one of a folder."""


class EvidenceLink(Value):
    """Where a reader sees the evidence at its source: from configuration, "" where there is no such page."""

    evidence: str
    url: str


class EarlierEpisode(Value):
    """How an earlier episode of the group ended."""

    investigation_id: str
    opened_at: Instant
    verdict: str
    root_cause: str


class Signature(Value):
    """Ed25519, in lower-case hex. Absent in a library host without a key.

    Of a report it is over the ASCII bytes of the terminal digest, "sha256:" and all; of a report folder,
    over MANIFEST_CONTEXT and the canonical bytes of the manifest without its signature.
    """

    public_key: str
    signature: str


class Report(Value):
    """Everything a report shows. f(terminal projection, state of the episode): nothing else enters.

    `limits_hit` names the ceilings that were reached. `episode_state` is where the trouble stands now. `note`
    is what this revision says beside its kind: why it waits, what is asked, why it failed. `facts` and
    `service_guess` are what stages 1 and 2 found: with them the rules of a verdict can be checked again.
    `questions` are what a human was asked; left out where there are none.
    """

    schema_version: Literal[1] = REPORT_VERSION
    investigation_id: str
    workspace: str
    revision: int
    kind: Literal["received", "progress", "question", "report", "members", "failed", "cancelled", "resolved", "noise"]
    note: str = ""
    title: str
    service: str
    severity: str
    episode: Episode
    episode_state: Literal["firing", "resolved"]
    resolved_at: Instant | None = None
    window: IncidentWindow | None = None
    facts: Facts | None = None
    service_guess: ServiceGuess | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    diagnosis: Diagnosis | None = None
    ledger: Ledger = Ledger()
    evidence: tuple[EvidenceItem, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    coverage: tuple[CoverageRow, ...] = ()
    questions: tuple[Question, ...] = Field(default=(), exclude_if=lambda asked: not asked)
    links: tuple[EvidenceLink, ...] = ()
    earlier: tuple[EarlierEpisode, ...] = ()
    spend: Spend = Spend()
    limits: Limits = Limits()
    budget: PlanBudget | None = None
    limits_hit: tuple[str, ...] = ()
    stop_reason: str = ""
    model: str = ""
    workflow: str = ""
    terminal_digest: str | None = None
    signature: Signature | None = None
