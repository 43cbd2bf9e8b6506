"""Between the wire form of a proposal and the value: `read_proposal`, and `write_proposal` for the analyst.

What cannot be read as a value is left out with a note, never guessed: a claim without its number, a time that
is none, a citation of nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from inquest.domain.claim import Citation, Claim
from inquest.domain.diagnosis import (
    UNKNOWN_CAUSE,
    ChainStep,
    OnsetAt,
    Proposal,
    Remediation,
    RuledOut,
)
from inquest.domain.evidence import EvidenceItem
from inquest.domain.value import Json, rfc3339
from inquest.stages.diagnosis_schema import (
    WireCitation,
    WireClaim,
    WireOnset,
    WireProposal,
    WireRuledOut,
    WireStep,
)
from inquest.stages.publishable import clean, publishable

MAX_CLAIMS = 40
MAX_STEPS = 12
MAX_LINES = 20
"""Ruled out, remediation steps, missing evidence, next checks: at most these of each; what is over is noted."""
UNKNOWN_DIGEST = "sha256:" + "0" * 64
"""Stands in a citation of evidence that does not exist; the check then says so."""

_claim: TypeAdapter[Claim] = TypeAdapter(Claim)
_MOMENTS = frozenset({"at", "first_at", "then_at"})
W = TypeVar("W")
V = TypeVar("V")


@dataclass(frozen=True)
class ReadProposal:
    """What a wire form says, and what of it could not be read."""

    proposal: Proposal
    notes: tuple[str, ...]


def read_proposal(wire: WireProposal, items: Mapping[str, EvidenceItem], author: str) -> ReadProposal:
    """Read the wire form; `items` give citations their identity and digest."""
    reader = _Reader(items)
    proposal = Proposal(
        verdict=wire.verdict,
        root_cause=reader.text(wire.root_cause),
        root_cause_category=clean(wire.root_cause_category).strip() or UNKNOWN_CAUSE,
        affected_object=reader.text(wire.affected_object),
        onset=None if wire.onset is None else reader.onset(wire.onset),
        causal_chain=reader.each("step", wire.causal_chain, reader.step, MAX_STEPS),
        claims=reader.each("claim", wire.claims, reader.claim, MAX_CLAIMS),
        ruled_out=reader.each("hypothesis ruled out", wire.ruled_out, reader.ruled_out, MAX_LINES),
        remediation_steps=reader.each(
            "remediation step",
            wire.remediation_steps,
            lambda step: Remediation(text=reader.needed(step.text), risk=step.risk),
            MAX_LINES,
        ),
        missing_evidence=reader.each("missing evidence", wire.missing_evidence, reader.needed, MAX_LINES),
        next_checks=reader.each("next check", wire.next_checks, reader.needed, MAX_LINES),
        author=author,
    )
    return ReadProposal(proposal, tuple(reader.notes))


def write_proposal(proposal: Proposal) -> str:
    """Write the wire form of a proposal as JSON text, as a model would."""
    return json.dumps(
        {
            "verdict": proposal.verdict.value,
            "root_cause": proposal.root_cause,
            "root_cause_category": proposal.root_cause_category,
            "affected_object": proposal.affected_object,
            "onset": None
            if proposal.onset is None
            else {"at": rfc3339(proposal.onset.at), "citation": _citation(proposal.onset.citation)},
            "causal_chain": [
                {"at": rfc3339(step.at), "text": step.text, "citations": _citations(step.citations)}
                for step in proposal.causal_chain
            ],
            "claims": [_wire_claim(claim) for claim in proposal.claims],
            "ruled_out": [
                {"hypothesis": one.hypothesis, "reason": one.reason, "citations": _citations(one.citations)}
                for one in proposal.ruled_out
            ],
            "remediation_steps": [{"text": step.text, "risk": step.risk} for step in proposal.remediation_steps],
            "missing_evidence": list(proposal.missing_evidence),
            "next_checks": list(proposal.next_checks),
        },
        ensure_ascii=False,
        allow_nan=False,
    )


class _Unreadable(Exception):
    """A part of the wire form that is no value; the message says why."""


@dataclass
class _Reader:
    items: Mapping[str, EvidenceItem]
    notes: list[str] = field(default_factory=list)

    def each(self, what: str, wires: Iterable[W], read: Callable[[W], V], most: int) -> tuple[V, ...]:
        """Read every element, note each that cannot be read, and what is over `most`."""
        found: list[V] = []
        listed = list(wires)
        for number, wire in enumerate(listed[:most], start=1):
            try:
                found.append(read(wire))
            except _Unreadable as reason:
                self.notes.append(f"{what} {number} is left out: {reason}")
        if len(listed) > most:
            self.notes.append(f"{len(listed) - most} more of kind {what!r} were not read: at most {most}")
        return tuple(found)

    def text(self, text: str) -> str:
        """Clean a text; "" for what must never be published."""
        cleaned = clean(text).strip()
        return cleaned if publishable(cleaned) else ""

    def needed(self, text: str) -> str:
        found = self.text(text)
        if not found:
            raise _Unreadable("it is empty or no prose")
        return found

    def citations(self, wires: Iterable[WireCitation]) -> tuple[Citation, ...]:
        return tuple(_cited(wire, self.items) for wire in wires)

    def onset(self, wire: WireOnset) -> OnsetAt | None:
        try:
            return OnsetAt(at=_moment("at", wire.at), citation=_cited(wire.citation, self.items))
        except _Unreadable as reason:
            self.notes.append(f"the onset is left out: {reason}")
            return None

    def step(self, wire: WireStep) -> ChainStep:
        return ChainStep(
            at=_moment("at", wire.at), text=self.needed(wire.text), citations=self.citations(wire.citations)
        )

    def ruled_out(self, wire: WireRuledOut) -> RuledOut:
        return RuledOut(
            hypothesis=self.needed(wire.hypothesis),
            reason=self.text(wire.reason),
            citations=self.citations(wire.citations),
        )

    def claim(self, wire: WireClaim) -> Claim:
        fields: dict[str, object] = {
            "type": wire.type,
            "text": self.text(wire.text),
            "citations": self.citations(wire.citations),
        }
        for name in WireClaim.model_fields:
            value = getattr(wire, name)
            if name in fields or value is None:
                continue
            fields[name] = (
                _moment(name, value) if name in _MOMENTS else clean(value) if isinstance(value, str) else value
            )
        try:
            return _claim.validate_python(_known_fields(wire.type, fields))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"][1:]) or "type"
            raise _Unreadable(f"{place}: {first['msg'].lower()}") from None


def _known_fields(kind: str, fields: dict[str, object]) -> dict[str, object]:
    """Drop the fields that the type does not have: a flat form carries them as empty."""
    known = _FIELDS.get(kind)
    if known is None:
        raise _Unreadable(f"there is no claim type {kind[:32]!r}")
    return {name: value for name, value in fields.items() if name in known}


def _fields_by_type() -> dict[str, frozenset[str]]:
    union = Claim.__args__[0]
    return {model.model_fields["type"].default: frozenset(model.model_fields) for model in union.__args__}


_FIELDS = _fields_by_type()


def _cited(wire: WireCitation, items: Mapping[str, EvidenceItem]) -> Citation:
    name = wire.evidence.strip().strip("[]")
    item = items.get(name)
    try:
        return Citation(
            evidence=name,
            observation_id=UNKNOWN_DIGEST if item is None else item.observation_id,
            content_digest=UNKNOWN_DIGEST if item is None else item.observation.digest,
            pointer=clean(wire.pointer),
            quoted=clean(wire.quoted),
        )
    except ValidationError:
        raise _Unreadable(f"{clean(name)[:32]!r} is no evidence name") from None


def _moment(name: str, text: str) -> datetime:
    """Read a time as RFC 3339, in UTC where no zone is given, or as epoch seconds or milliseconds."""
    plain = text.strip()
    try:
        if plain.isdecimal() and plain.isascii():
            number = int(plain)
            return datetime.fromtimestamp(number / 1000 if len(plain) > len("9999999999") else number, UTC)
        found = datetime.fromisoformat(plain.removesuffix("UTC").strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise _Unreadable(f"{name}: {clean(plain)[:40]!r} is no time") from None


def _citation(citation: Citation) -> dict[str, Json]:
    return {"evidence": citation.evidence, "pointer": citation.pointer, "quoted": citation.quoted}


def _citations(citations: Iterable[Citation]) -> list[Json]:
    return [_citation(citation) for citation in citations]


def _wire_claim(claim: Claim) -> dict[str, Json]:
    flat: dict[str, Json] = dict.fromkeys(WireClaim.model_fields)
    dumped = claim.model_dump(mode="json")
    for name in dumped:
        value = getattr(claim, name)
        flat[name] = rfc3339(value) if isinstance(value, datetime) else dumped[name]
    flat["citations"] = _citations(claim.citations)
    return flat
