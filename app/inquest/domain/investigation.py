"""The aggregate: who it is, and one section of state per stage."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from inquest.domain.budget import Limits, PlanBudget
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.episode import Episode
from inquest.domain.hypothesis import Hypothesis
from inquest.domain.observation import Query, Signal
from inquest.domain.question import Question
from inquest.domain.value import Digest, Instant, Labels, Value
from inquest.domain.window import IncidentWindow
from inquest.errors import InvariantBroken

WORKFLOW = "investigate/1"
"""The pipeline's name and version; a claim takes only the versions its release lists."""


class Status(StrEnum):
    """Where an investigation stands. The last four are terminal or on the way out."""

    DEFERRED = "deferred"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETING = "deleting"


TERMINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.DELETING})


class Identity(Value):
    """Immutable. run_id is the investigation's id, task_id the episode's, session_id who opened it."""

    workspace_id: str
    task_id: str
    run_id: str
    session_id: str
    workflow_id: str = WORKFLOW


class ConnectedSource(Value):
    """An integration of the workspace as stage 1 found it."""

    name: str
    type: str
    signals: tuple[Signal, ...]
    tools: tuple[str, ...]
    health: Literal["ok", "failing", "unknown"] = "unknown"
    note: str = ""


class ServiceGuess(Value):
    """Which service the alert is about, and how we know. `matchers`: by type of source, the labels that select it."""

    service_id: str
    how: Literal["catalogue", "convention", "label", "none"]
    namespace: str = ""
    workload: str = ""
    repository: str = ""
    depends_on: tuple[str, ...] = ()
    matchers: dict[str, Labels] = Field(default_factory=dict)


class Integrations(Value):
    """Stage 1's section. `dependencies`: the labels that select what the service calls, by name, then type of source."""

    sources: tuple[ConnectedSource, ...]
    service: ServiceGuess
    dependencies: dict[str, dict[str, Labels]] = Field(default_factory=dict)


class Facts(Value):
    """Stage 2's section. All texts are the alert's: data. `expression` is what the alert evaluates, if known.

    `noise` is the reason why this is no incident; then nothing more is done.
    """

    alert_name: str
    severity: str
    alert_source: str
    service: str
    namespace: str = ""
    workload: str = ""
    error_message: str = ""
    expression: str = ""
    links: tuple[str, ...] = ()
    labels: Labels = Field(default_factory=dict)
    window: IncidentWindow
    noise: str | None = None


class RankedTool(Value):
    """A tool of the plan with its score in [0, 1] and why."""

    name: str
    score: float
    rationale: str


class SeedCall(Value):
    """A query fired before the first turn."""

    key: str
    query: Query
    why: str


class Plan(Value):
    """Stage 3's section: advisory in its tools, binding in its budget."""

    objective: str
    hypotheses: tuple[Hypothesis, ...]
    tools: tuple[RankedTool, ...]
    seeds: tuple[SeedCall, ...]
    budget: PlanBudget
    fallback: bool = False
    """True when no tool scored and the loop's own relevance ranking applies."""


StopReason = Literal[
    "concluded", "stagnant", "max_turns", "max_calls", "deadline", "max_tokens", "max_usd", "never_concluded",
    "model_failed", "noise", "budget_exhausted",
]  # fmt: skip


class Gathered(Value):
    """Stage 4's section: why the loop ended, and the conclusion's own words."""

    stop_reason: StopReason
    turns: int
    conclusion: str = ""
    degraded: str = ""
    limits_hit: tuple[str, ...] = ()


class ReportSection(Value):
    """Stage 6's section: the report by digest."""

    report_digest: Digest


class Origin(Value):
    """Where the alert came from, for the default route of the answer."""

    intake: str
    source: str
    channel: str = ""
    thread: str = ""
    project: str = ""
    issue: str = ""


class Investigation(Value):
    """Identity, the episode it was opened for, and what each stage left. None: that stage has not run.

    `questions` are those that a human was asked, in order.
    """

    identity: Identity
    episode: Episode
    origin: Origin
    models: tuple[str, ...]
    prompts: dict[str, Digest] = Field(default_factory=dict)
    limits: Limits = Limits()
    started_at: Instant
    deadline_at: Instant
    questions: tuple[Question, ...] = ()
    integrations: Integrations | None = None
    facts: Facts | None = None
    plan: Plan | None = None
    gathered: Gathered | None = None
    diagnosis: Diagnosis | None = None
    report: ReportSection | None = None


class IntegrationsResolved(Value):
    """Update of stage 1."""

    stage: Literal["resolve_integrations"] = "resolve_integrations"
    integrations: Integrations


class FactsExtracted(Value):
    """Update of stage 2."""

    stage: Literal["extract_alert"] = "extract_alert"
    facts: Facts


class Planned(Value):
    """Update of stage 3; recorded as plan_committed."""

    stage: Literal["plan_actions"] = "plan_actions"
    plan: Plan


class EvidenceGathered(Value):
    """Update of stage 4."""

    stage: Literal["gather_evidence"] = "gather_evidence"
    gathered: Gathered


class Diagnosed(Value):
    """Update of stage 5."""

    stage: Literal["diagnose"] = "diagnose"
    diagnosis: Diagnosis


class Delivered(Value):
    """Update of stage 6; it commits with the terminal event."""

    stage: Literal["deliver"] = "deliver"
    report: ReportSection


Update = IntegrationsResolved | FactsExtracted | Planned | EvidenceGathered | Diagnosed | Delivered


def advance(state: Investigation, update: Update) -> Investigation:
    """Set the section that `update` carries: the one place where a section is set.

    Raises InvariantBroken when that section is already there.
    """
    section = next(name for name in type(update).model_fields if name != "stage")
    if getattr(state, section) is not None:
        msg = f"stage {update.stage} has already run: its section is never overwritten"
        raise InvariantBroken(msg)
    return state.model_copy(update={section: getattr(update, section)})
