"""Claims are checked here, by code: the type against the evidence, then the sentence against the type.

`render` writes the sentence of a claim made by code. A model writes its own, and it may hold no number, time
or name that is not in, or does not follow by the type from, what it cites.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from inquest.domain.claim import (
    Absent,
    Change,
    ChangeEvent,
    CorrelatesInTime,
    Onset,
    Precedes,
    Present,
    StateIs,
    ValueAt,
)
from inquest.domain.value import Value
from inquest.stages.claim_ground import ground_of, known_objects
from inquest.stages.claim_records import check_absent, check_change_event, check_precedes, check_present, check_state
from inquest.stages.claim_series import check_change, check_correlates, check_onset, check_value_at
from inquest.stages.claim_text import Ground, numbers_in, unsupported
from inquest.stages.exhibits import Exhibits, NotShown
from inquest.stages.quoting import as_written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta

    from inquest.domain.claim import Claim
    from inquest.domain.evidence import EvidenceItem
    from inquest.stages.exhibits import Cited

MAX_CITATIONS = 8
"""Of one claim."""
_SECONDS_IN_MINUTE = 60
_SECONDS_IN_HOUR = 3_600


class Checked(Value):
    """What a check found. `contradicted`: the evidence shows something else, not just nothing."""

    is_valid: bool
    reason: str = ""
    contradicted: bool = False


def check(claim: Claim, evidence: Iterable[EvidenceItem], contents: Mapping[str, bytes]) -> Checked:
    """Check one claim against admitted evidence and its full content bytes by digest."""
    exhibits = Exhibits(evidence, contents)
    return check_claim(claim, exhibits, known_objects(exhibits))


def check_claim(claim: Claim, exhibits: Exhibits, known: frozenset[str] = frozenset()) -> Checked:
    """Check one claim: its citations, its type, then its text. `known` as in `claim_ground.known_objects`."""
    try:
        show(claim, exhibits, known)
    except NotShown as found:
        return Checked(is_valid=False, reason=found.reason, contradicted=found.contradicted)
    return Checked(is_valid=True)


@dataclass(frozen=True)
class Shown:
    """A claim that holds: where it leads, and what may be said because of it."""

    claim: Claim
    cited: tuple[Cited, ...]
    ground: Ground


def show(claim: Claim, exhibits: Exhibits, known: frozenset[str]) -> Shown:
    """Check one claim and give what it rests on. Raises NotShown."""
    cited = _check_citations(claim, exhibits)
    follows = _check_type(claim, cited, exhibits)
    ground = ground_of(cited, known) | follows
    _check_texts(claim, ground)
    return Shown(claim, tuple(cited), ground)


def render(claim: Claim) -> str:
    """Write the sentence that a claim's type and fields say, for claims made by code."""
    match claim:
        case ValueAt():
            text = f"{claim.subject} was {_number(claim.value)}{_unit(claim.unit)} at {_time(claim.at)}."
        case Change():
            after = f"{_number(claim.after)}{_unit(claim.unit)} after {_time(claim.at)}"
            text = f"{claim.subject} went from {_number(claim.before)}{_unit(claim.unit)} to {after}."
        case Onset():
            text = f"{claim.subject} left its baseline at {_time(claim.at)}."
        case Precedes():
            text = f"{claim.first} at {_time(claim.first_at)} was before {claim.then} at {_time(claim.then_at)}."
        case CorrelatesInTime():
            at_least = _number(claim.at_least)
            text = f"{claim.first} and {claim.second} move together (rank correlation of {at_least} or more)."
        case Present():
            text = f"The text contains: {claim.fragment}"
        case Absent():
            text = f"Nothing in the window matched: {claim.query}"
        case StateIs():
            text = f"{claim.subject} is in state {claim.state}."
        case ChangeEvent():
            text = f"{claim.what} ({claim.change_id}) at {_time(claim.at)}."
        case unknown:
            assert_never(unknown)
    return text


def _check_citations(claim: Claim, exhibits: Exhibits) -> list[Cited]:
    if len(claim.citations) > MAX_CITATIONS:
        raise NotShown(f"a claim has at most {MAX_CITATIONS} citations")
    return [exhibits.check(citation) for citation in claim.citations]


def _check_type(claim: Claim, cited: Sequence[Cited], exhibits: Exhibits) -> Ground:
    """Check the typed statement, and give what may be said because it holds. Raises NotShown."""
    said = Ground()
    match claim:
        case ValueAt():
            check_value_at(claim, cited)
            said = _said([claim.value], [claim.at])
        case Change():
            check_change(claim, cited, exhibits.window)
            said = _said([claim.before, claim.after], [claim.at])
        case Onset():
            check_onset(claim, cited, exhibits.window)
            said = _said([], [claim.at])
        case Precedes():
            between = check_precedes(claim, cited, exhibits.window)
            said = _said([], [claim.first_at, claim.then_at]) | _duration(between)
        case CorrelatesInTime():
            found = check_correlates(claim, cited)
            said = _said([claim.at_least, found], [])
        case Present():
            check_present(claim, cited)
            said = Ground(words=claim.fragment.lower(), numbers=numbers_in(claim.fragment))
        case Absent():
            check_absent(claim, cited, exhibits.window)
            said = Ground(words=claim.query.lower(), numbers=numbers_in(claim.query) | numbers_in("0"))
        case StateIs():
            check_state(claim, cited)
            said = Ground(words=claim.state.lower())
        case ChangeEvent():
            check_change_event(claim, cited)
            said = _said([], [claim.at])
        case unknown:
            assert_never(unknown)
    return said


def _check_texts(claim: Claim, ground: Ground) -> None:
    """Check the sentence, and the names inside the typed fields: they are text too. Raises NotShown."""
    for text in _named(claim):
        if not text.strip():
            raise NotShown("what the claim is about is not named")
        reason = unsupported(text, ground)
        if reason is not None:
            raise NotShown(f"in {text[:64]!r}: {reason}")
        if not _touches(text, ground):
            raise NotShown(f"nothing of {text[:64]!r} occurs in its citations")
    if claim.text == render(claim):
        return  # every part of it was just checked
    if not claim.text.strip():
        raise NotShown("the claim says nothing")
    reason = unsupported(claim.text, ground)
    if reason is not None:
        raise NotShown(reason)


def _named(claim: Claim) -> tuple[str, ...]:
    match claim:
        case ValueAt() | Change() | Onset() | StateIs():
            return (claim.subject,)
        case Precedes():
            return (claim.first, claim.then)
        case CorrelatesInTime():
            return (claim.first, claim.second)
        case ChangeEvent():
            return (claim.what,)
        case Present() | Absent():
            return ()
        case unknown:
            assert_never(unknown)


def _touches(text: str, ground: Ground) -> bool:
    """Say whether at least one word of a name is cited: a subject made of plain words names nothing by itself."""
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return any(word in ground.words for word in words if len(word) > 2)  # noqa: PLR2004  # "of", "is", "to"


def _said(numbers: Sequence[float], moments: Sequence[datetime]) -> Ground:
    return Ground(
        numbers=frozenset(as_written(number) for number in numbers),
        moments=frozenset(moments),
        words="\n".join(_number(number) for number in numbers),
    )


def _duration(between: timedelta) -> Ground:
    """Let a text say how long lies between two moments that were checked."""
    seconds = between.total_seconds()
    said = (seconds, seconds / _SECONDS_IN_MINUTE, seconds / _SECONDS_IN_HOUR)
    return Ground(
        numbers=frozenset(as_written(number) for number in said), units=frozenset({"seconds", "minutes", "hours"})
    )


def _number(value: float) -> str:
    return str(as_written(value))


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
