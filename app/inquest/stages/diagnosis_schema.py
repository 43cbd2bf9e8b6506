"""The wire form of a proposal: what a model is asked to write, as a closed JSON schema, and how it is read.

Strict structured output knows no free objects and no unions beyond null: so one flat object stands for all
claim types, and a citation is only evidence, pointer and quote. Identities and digests are filled in by code.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from inquest.domain.diagnosis import Verdict
from inquest.domain.value import Json

CLAIM_TYPES = (
    "value_at", "change", "onset", "precedes", "correlates_in_time", "present", "absent", "state", "change_event",
)  # fmt: skip


class _Wire(BaseModel):
    """Lenient on purpose: what a model forgot is empty, what it added is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class WireCitation(_Wire):
    """Where the evidence says it."""

    evidence: str
    pointer: str = ""
    quoted: str = ""


class WireClaim(_Wire):
    """One claim of any type; which fields it needs, its type says. Times are RFC 3339."""

    type: str
    text: str = ""
    citations: tuple[WireCitation, ...] = ()
    subject: str | None = None
    at: str | None = None
    value: float | None = None
    unit: str | None = None
    before: float | None = None
    after: float | None = None
    first: str | None = None
    first_at: str | None = None
    then: str | None = None
    then_at: str | None = None
    second: str | None = None
    at_least: float | None = None
    fragment: str | None = None
    query: str | None = None
    state: str | None = None
    change_id: str | None = None
    what: str | None = None


class WireStep(_Wire):
    """One step of the causal chain."""

    at: str
    text: str
    citations: tuple[WireCitation, ...] = ()


class WireOnset(_Wire):
    """When the trouble began, and the series or record that shows it."""

    at: str
    citation: WireCitation


class WireRuledOut(_Wire):
    """A hypothesis that does not hold."""

    hypothesis: str
    reason: str = ""
    citations: tuple[WireCitation, ...] = ()


class WireRemediation(_Wire):
    """A step for a human."""

    text: str
    risk: Literal["low", "medium", "high"] = "medium"


class WireProposal(_Wire):
    """The whole proposal as it travels."""

    verdict: Verdict
    root_cause: str
    root_cause_category: str = ""
    affected_object: str = ""
    onset: WireOnset | None = None
    causal_chain: tuple[WireStep, ...] = ()
    claims: tuple[WireClaim, ...] = ()
    ruled_out: tuple[WireRuledOut, ...] = ()
    remediation_steps: tuple[WireRemediation, ...] = ()
    missing_evidence: tuple[str, ...] = ()
    next_checks: tuple[str, ...] = ()


def _object(**properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(of: Json) -> dict[str, Json]:
    return {"type": "array", "items": of}


def _one_of(*words: str) -> dict[str, Json]:
    return {"type": "string", "enum": list(words)}


_TEXT: dict[str, Json] = {"type": "string"}
_TEXT_OR_NULL: dict[str, Json] = {"type": ["string", "null"]}
_NUMBER_OR_NULL: dict[str, Json] = {"type": ["number", "null"]}
_CITATION = _object(evidence=_TEXT, pointer=_TEXT, quoted=_TEXT)
_NUMBERS = ("value", "before", "after", "at_least")
_WORDS = tuple(
    name for name in WireClaim.model_fields if name not in {"type", "text", "citations", *_NUMBERS}
)  # each null where the claim's type has no such field

DIAGNOSIS_SCHEMA: dict[str, Json] = _object(
    verdict=_one_of(*(verdict.value for verdict in Verdict)),
    root_cause=_TEXT,
    root_cause_category=_TEXT,
    affected_object=_TEXT,
    onset={**_object(at=_TEXT, citation=_CITATION), "type": ["object", "null"]},
    causal_chain=_list(_object(at=_TEXT, text=_TEXT, citations=_list(_CITATION))),
    claims=_list(
        _object(
            type=_one_of(*CLAIM_TYPES),
            text=_TEXT,
            citations=_list(_CITATION),
            **{name: _NUMBER_OR_NULL if name in _NUMBERS else _TEXT_OR_NULL for name in (*_WORDS, *_NUMBERS)},
        )
    ),
    ruled_out=_list(_object(hypothesis=_TEXT, reason=_TEXT, citations=_list(_CITATION))),
    remediation_steps=_list(_object(text=_TEXT, risk=_one_of("low", "medium", "high"))),
    missing_evidence=_list(_TEXT),
    next_checks=_list(_TEXT),
)
"""Every property is required, no object is open, null is the only union: what strict modes accept."""
