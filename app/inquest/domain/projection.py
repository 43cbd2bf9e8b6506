"""The projection: what an investigation came to, and on what. Its digest stands in the terminal event."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.claim import Citation
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.event import Steering
from inquest.domain.hypothesis import Ledger
from inquest.domain.investigation import Identity, Plan
from inquest.domain.observation import Signal
from inquest.domain.value import Digest, Value
from inquest.domain.window import Window

PROJECTION_VERSION: Literal[1] = 1
NOTHING_REBUILT = digest_of(b"")
"""Stands for the digest of a projection that could not be made; no projection has it."""


class EvidenceEntry(Value):
    """One line of the evidence index: enough to find the observation and to know it again."""

    name: str
    observation_id: Digest
    content_digest: Digest
    effect_key: str
    source: str
    signal: Signal
    tool: str
    expression: str
    time_range: Window
    truncated: bool


class CallDecision(Value):
    """What was done with one call: dispatch, replay, refuse or internal, and the key or failure code."""

    name: str
    did: Literal["dispatch", "replay", "refuse", "internal"]
    what: str


class TurnDecision(Value):
    """What decided a turn: the rendered request by digest, the tools on offer, and what became of its calls."""

    decision: Literal["turn"] = "turn"
    turn: int
    request_digest: Digest
    offered: tuple[str, ...]
    calls: tuple[CallDecision, ...]


class SteerDecision(Value):
    """A selection, eviction, nudge, withdrawal or ceiling."""

    decision: Literal["steer"] = "steer"
    steering: Steering


Decision = Annotated[TurnDecision | SteerDecision, Field(discriminator="decision")]


class Projection(Value):
    """Everything that a report rests on (design 10). Nothing in it depends on who did the work, or when.

    `stop_reason` is "" while the loop has not ended.
    """

    schema_version: Literal[1] = PROJECTION_VERSION
    identity: Identity
    plan: Plan | None
    ledger: Ledger
    evidence: tuple[EvidenceEntry, ...]
    citations: tuple[Citation, ...]
    decisions: tuple[Decision, ...]
    diagnosis: Diagnosis | None
    spend: Spend
    stop_reason: str
