"""Inquest in a process of yours: read evidence, or run a whole investigation, without service or database.

    projection = await run_investigation(
        journal=journal, effects=journal, investigator=Analyst(), connectors=connectors, clock=clock,
        identity=identity, fence=fence, facts=facts, plan=plan,
    )

What is listed here is the whole public surface; docs/reference/library.md says what each name promises, and
docs/how-to/embed-as-a-library.md shows a host.
"""

from __future__ import annotations

from inquest.connectors.gitlab import TOKEN_HEADER as GITLAB_TOKEN_HEADER
from inquest.connectors.gitlab import GitLabConfig
from inquest.connectors.loki import QUERY_ENDPOINTS as LOKI_ENDPOINTS
from inquest.connectors.loki import LokiConfig
from inquest.connectors.prometheus import QUERY_ENDPOINTS as PROMETHEUS_ENDPOINTS
from inquest.connectors.prometheus import PrometheusConfig
from inquest.domain.budget import Limits, PlanBudget
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.failure import Failure, FailureCode
from inquest.domain.fence import Fence
from inquest.domain.hypothesis import Hypothesis
from inquest.domain.investigation import Facts, Identity, Plan, RankedTool, SeedCall, ServiceGuess
from inquest.domain.observation import Context, Error, Observation, Ok, Outcome, Partial, Query, QueryBudget
from inquest.domain.projection import Projection
from inquest.domain.tool import ToolSpec
from inquest.domain.transcript import ModelRequest, Reply, ToolCall
from inquest.domain.window import IncidentWindow, Window, incident_window
from inquest.errors import (
    BudgetExhausted,
    ConfigurationError,
    FenceLost,
    FingerprintMismatch,
    Halted,
    IdentityMismatch,
    InquestError,
    ModelError,
    NotFound,
    PlanMismatch,
    Refused,
    ReplayMismatch,
    StoreUnavailable,
    VersionConflict,
    WaitsForAnswer,
)
from inquest.investigators.analyst import Analyst
from inquest.investigators.with_model import ModelInvestigator
from inquest.library.connectors import create_gitlab_connector, create_loki_connector, create_prometheus_connector
from inquest.library.investigators import create_model_investigator
from inquest.library.planning import propose_plan
from inquest.library.reading import execute_read
from inquest.library.running import HostTerms, run_investigation
from inquest.models.scripted import ScriptedInvestigator, ScriptedModel
from inquest.ports import (
    Again,
    Chronicle,
    Clock,
    Connector,
    Effects,
    Fresh,
    InvalidQuery,
    Investigator,
    Journal,
    Known,
    LoopView,
    Model,
    ModelFailure,
    Moved,
    Reading,
    ReserveAnswer,
    Spent,
    Tool,
    Write,
)
from inquest.runtime.clock import SystemClock
from inquest.runtime.keys import InstallationKey
from inquest.store.lease import Claimed, Opening
from inquest.store.memory import MemoryJournal
from inquest.wire.cursor import CursorKey
from inquest.wire.endpoint import Anonymous, Basic, Bearer, Endpoint, HeaderToken
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport

__all__ = [
    "GITLAB_TOKEN_HEADER",
    "LOKI_ENDPOINTS",
    "PROMETHEUS_ENDPOINTS",
    "Again",
    "Analyst",
    "Anonymous",
    "Basic",
    "Bearer",
    "BudgetExhausted",
    "Chronicle",
    "Claimed",
    "Clock",
    "ConfigurationError",
    "Connector",
    "Context",
    "CursorKey",
    "Diagnosis",
    "Effects",
    "Endpoint",
    "Error",
    "Facts",
    "Failure",
    "FailureCode",
    "Fence",
    "FenceLost",
    "FingerprintMismatch",
    "Fresh",
    "GitLabConfig",
    "Halted",
    "HeaderToken",
    "HostTerms",
    "Hypothesis",
    "Identity",
    "IdentityMismatch",
    "IncidentWindow",
    "InquestError",
    "InstallationKey",
    "InvalidQuery",
    "Investigator",
    "Journal",
    "Known",
    "Limits",
    "LokiConfig",
    "LoopView",
    "MemoryJournal",
    "Model",
    "ModelError",
    "ModelFailure",
    "ModelInvestigator",
    "ModelRequest",
    "Moved",
    "NotFound",
    "Observation",
    "Ok",
    "Opening",
    "Outcome",
    "Partial",
    "Plan",
    "PlanBudget",
    "PlanMismatch",
    "Projection",
    "PrometheusConfig",
    "Query",
    "QueryBudget",
    "RankedTool",
    "Reading",
    "Receipt",
    "Redactor",
    "Refused",
    "ReplayMismatch",
    "Reply",
    "Reservation",
    "ReserveAnswer",
    "ScriptedInvestigator",
    "ScriptedModel",
    "SeedCall",
    "ServiceGuess",
    "Spent",
    "StoreUnavailable",
    "SystemClock",
    "Tool",
    "ToolCall",
    "ToolSpec",
    "Transport",
    "Verdict",
    "VersionConflict",
    "WaitsForAnswer",
    "Window",
    "Write",
    "create_gitlab_connector",
    "create_loki_connector",
    "create_model_investigator",
    "create_prometheus_connector",
    "execute_read",
    "incident_window",
    "propose_plan",
    "run_investigation",
]
