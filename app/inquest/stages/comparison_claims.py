"""The claims of two diagnoses, side by side: by their words, and what is left by what it is about. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal, assert_never

from inquest.domain.claim import (
    Absent,
    Change,
    ChangeEvent,
    Claim,
    CorrelatesInTime,
    Onset,
    Precedes,
    Present,
    StateIs,
    ValueAt,
)
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.value import Value


class ClaimDifference(Value):
    """A claim that is not the same in both: validated, not validated (with the reason), or not made.

    `other_text` is B's where both claim the same thing with other figures or moments, as a re-run does.
    """

    text: str
    other_text: str | None = None
    a: Literal["validated", "not_validated", "not_made"]
    b: Literal["validated", "not_validated", "not_made"]
    reason: str = ""


def compare_claims(a: Diagnosis | None, b: Diagnosis | None) -> tuple[tuple[ClaimDifference, ...], int]:
    """Compare claims by what they say, and what is left by what it is about; one made twice stands as its better."""
    stands_a, stands_b = _standing(a), _standing(b)
    differ: list[ClaimDifference] = []
    alike = 0
    for one, other in _claim_pairs(stands_a, stands_b):
        if one is not None and other is not None and (one.text, one.how) == (other.text, other.how):
            alike += 1
        else:
            differ.append(_claim_difference(one, other))
    return tuple(differ), alike


class _Stands(Value):
    text: str
    about: tuple[str, ...]
    how: Literal["validated", "not_validated"]
    reason: str = ""


_ClaimPair = tuple[_Stands | None, _Stands | None]


def _claim_pairs(a: Mapping[str, _Stands], b: Mapping[str, _Stands]) -> list[_ClaimPair]:
    """Pair claims with the same words; of the others, those about the same thing, in their order."""
    pairs: list[_ClaimPair] = []
    waiting: defaultdict[tuple[str, ...], list[_Stands]] = defaultdict(list)
    for text, other in b.items():
        if text not in a:
            waiting[other.about].append(other)
    for text, one in a.items():
        left = waiting[one.about]
        pairs.append((one, b[text] if text in b else left.pop(0) if left else None))
    return [*pairs, *((None, other) for left in waiting.values() for other in left)]


def _claim_difference(one: _Stands | None, other: _Stands | None) -> ClaimDifference:
    made = [stands for stands in (one, other) if stands is not None]
    texts = [stands.text for stands in made]
    return ClaimDifference(
        text=texts[0],
        other_text=texts[-1] if texts[-1] != texts[0] else None,
        a="not_made" if one is None else one.how,
        b="not_made" if other is None else other.how,
        reason=next((stands.reason for stands in made if stands.reason), ""),
    )


def _standing(found: Diagnosis | None) -> dict[str, _Stands]:
    if found is None:
        return {}
    firm = [_stands(claim, "validated") for claim in found.validated_claims]
    weak = [_stands(one.claim, "not_validated", one.reason) for one in found.non_validated_claims]
    return {one.text: one for one in (*weak, *firm)}


def _stands(claim: Claim, how: Literal["validated", "not_validated"], reason: str = "") -> _Stands:
    return _Stands(text=_words(claim), about=_about(claim), how=how, reason=reason)


def _about(claim: Claim) -> tuple[str, ...]:
    """Give what a claim is about, without its figures and moments."""
    match claim:
        case ValueAt() | Change() | Onset():
            names: tuple[str, ...] = (claim.subject,)
        case Precedes():
            names = (claim.first, claim.then)
        case CorrelatesInTime():
            names = (claim.first, claim.second)
        case Present():
            names = (claim.fragment,)
        case Absent():
            names = (claim.query,)
        case StateIs():
            names = (claim.subject, claim.state)
        case ChangeEvent():
            names = (claim.change_id,)
        case unknown:
            assert_never(unknown)
    return claim.type, *names


def _words(claim: Claim) -> str:
    return " ".join(claim.text.split())
