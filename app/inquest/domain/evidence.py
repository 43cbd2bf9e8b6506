"""Evidence: observations admitted to an investigation, by display name."""

from __future__ import annotations

from typing import Literal

from inquest.domain.failure import Failure, FailureCode
from inquest.domain.observation import Observation, Query, Signal
from inquest.domain.value import Value
from inquest.domain.window import Window


class EvidenceItem(Value):
    """An admitted observation. `name` is E1, E2 .. in order of admission; `effect_key` says which call."""

    name: str
    observation_id: str
    effect_key: str
    observation: Observation


class Excluded(Value):
    """An observation that may not be used, and why (checklist 30)."""

    effect_key: str
    observation_id: str
    reason: str


CoverageStatus = Literal["answered", "empty", "failed", "truncated", "never_asked"]


class CoverageRow(Value):
    """One line of the coverage table, computed from the journal: a tool over a stretch of time.

    `evidence` is the admitted item, None where nothing came back; `code` is set when it failed.
    """

    source: str
    signal: Signal
    tool: str
    expression: str
    window: Window | None
    status: CoverageStatus
    evidence: str | None = None
    code: FailureCode | None = None
    why: str = ""


class Asked(Value):
    """A query of this investigation and how it ended, in planned order."""

    effect_key: str
    query: Query
    source: str
    signal: Signal
    evidence: tuple[str, ...]
    failure: Failure | None = None
