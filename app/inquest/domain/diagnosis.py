"""The diagnosis: verdict, cause, chain, and the claims that carry them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from inquest.domain.claim import Citation, Claim, Unvalidated
from inquest.domain.value import Instant, Value


class Verdict(StrEnum):
    """How an investigation ends for its reader; "inconclusive" is a real answer."""

    CAUSE_FOUND = "cause_found"
    CONTRIBUTING_ONLY = "contributing_only"
    INCONCLUSIVE = "inconclusive"
    HEALTHY = "healthy"


CAUSE_FAMILIES = (
    "change", "resource", "dependency", "network", "data_store", "queue", "platform", "configuration",
    "security_identity", "traffic", "code_fault", "external",
)  # fmt: skip
UNKNOWN_CAUSE = "other.unknown"


class ChainStep(Value):
    """One step from cause to symptom, in time order."""

    at: Instant
    text: str
    citations: tuple[Citation, ...]


class RuledOut(Value):
    """A hypothesis that did not hold, and what spoke against it."""

    hypothesis: str
    reason: str
    citations: tuple[Citation, ...] = ()


class Remediation(Value):
    """A step that a human may take. Never executed. `from_evidence`: a word of it was read in evidence."""

    text: str
    risk: Literal["low", "medium", "high"]
    from_evidence: bool = False


class OnsetAt(Value):
    """When the trouble began, and the series that shows it."""

    at: Instant
    citation: Citation


class Diagnosis(Value):
    """What broke, why, and which claims code has checked.

    `root_cause_category` is "family.cause" or "other.*". `validity_score` is computed by
    `stages.scoring.validity_score`, in [0, 1]. `degraded` holds the reason when the analyst concluded in
    the model's place. `downgraded` says why the verdict is less than its author proposed. `notes` list what
    was proposed and left out, each with the reason. `author` is "analyst" or the model that answered.
    """

    verdict: Verdict
    root_cause: str
    root_cause_category: str = UNKNOWN_CAUSE
    affected_object: str = ""
    onset: OnsetAt | None = None
    causal_chain: tuple[ChainStep, ...] = ()
    validated_claims: tuple[Claim, ...] = ()
    non_validated_claims: tuple[Unvalidated, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    remediation_steps: tuple[Remediation, ...] = ()
    missing_evidence: tuple[str, ...] = ()
    next_checks: tuple[str, ...] = ()
    validity_score: float = Field(default=0.0, ge=0, le=1)
    author: str = "analyst"
    degraded: str = ""
    downgraded: str = ""
    notes: tuple[str, ...] = ()


class Proposal(Value):
    """A diagnosis as its author proposes it, before any claim is checked."""

    verdict: Verdict
    root_cause: str
    root_cause_category: str = UNKNOWN_CAUSE
    affected_object: str = ""
    onset: OnsetAt | None = None
    causal_chain: tuple[ChainStep, ...] = ()
    claims: tuple[Claim, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    remediation_steps: tuple[Remediation, ...] = ()
    missing_evidence: tuple[str, ...] = ()
    next_checks: tuple[str, ...] = ()
    author: str = "analyst"
