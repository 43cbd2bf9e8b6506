"""The parts of a diagnosis that cite evidence without being claims: chain, onset, what was ruled out.

Each is kept only when its citations hold and its text says no more than they do; what is left out becomes a
note with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from inquest.domain.value import from_epoch_ms
from inquest.stages.claim_ground import ground_of
from inquest.stages.claim_series import check_moment, check_near, onset_of, series_step
from inquest.stages.claim_text import Ground, unsupported
from inquest.stages.exhibits import NotShown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.domain.claim import Citation
    from inquest.domain.diagnosis import ChainStep, OnsetAt, RuledOut
    from inquest.stages.exhibits import Cited, Exhibits

MAX_NOTE_TEXT = 500


@dataclass(frozen=True)
class CheckedChain:
    """The steps that hold, what they rest on, and a note for each that does not.

    `first_holds` says whether the first proposed step, the cause, is among them.
    """

    steps: tuple[ChainStep, ...]
    cited: tuple[Cited, ...]
    ground: Ground
    notes: tuple[str, ...]
    first_holds: bool


def check_chain(steps: Sequence[ChainStep], exhibits: Exhibits, ground: Ground) -> CheckedChain:
    """Check every step; `ground` is what validated claims allow a text to say."""
    kept: list[ChainStep] = []
    cited: list[Cited] = []
    notes: list[str] = []
    grounds = Ground()
    for number, step in enumerate(steps, start=1):
        try:
            found = _check_step(step, exhibits, ground)
        except NotShown as missing:
            notes.append(f"step {number} of the chain is left out, {missing.reason}: {shorten(step.text)}")
            continue
        kept.append(step)
        cited.extend(found)
        grounds = grounds | ground_of(found) | Ground(moments=frozenset({step.at}))
    first_holds = bool(kept) and kept[0] == steps[0]
    return CheckedChain(tuple(kept), tuple(cited), grounds, tuple(notes), first_holds)


def is_ordered(steps: Sequence[ChainStep]) -> bool:
    """Say whether no step is before the one that is said to lead to it."""
    return all(one.at <= next_one.at for one, next_one in pairwise(steps))


def check_onset_at(onset: OnsetAt, exhibits: Exhibits) -> None:
    """Check an onset against its citation. Raises NotShown.

    A citation of a whole series is checked by finding its onset, to one step; of anything else, by its time.
    """
    cited = exhibits.check(onset.citation)
    if cited.place.is_series:
        found = from_epoch_ms(onset_of([cited], exhibits.window).at_ms)
        check_near(onset.at, found, series_step(cited), f"the onset of {cited.item.name} is at")
    else:
        check_moment(onset.at, cited.place.moments, f"what {cited.item.name} shows there")


def check_ruled_out(
    ruled_out: Sequence[RuledOut], exhibits: Exhibits, known: frozenset[str]
) -> tuple[tuple[RuledOut, ...], tuple[str, ...]]:
    """Keep what cites evidence that holds, less the citations that do not; give notes for the rest."""
    kept: list[RuledOut] = []
    notes: list[str] = []
    for one in ruled_out:
        cited = _holding(one.citations, exhibits)
        reason = unsupported(one.reason, ground_of(cited, known)) if cited else "nothing it cites holds"
        if reason is None:
            kept.append(one.but(citations=tuple(found.citation for found in cited)))
        else:
            notes.append(f"not ruled out, {reason}: {shorten(one.hypothesis)} ({shorten(one.reason)})")
    return tuple(kept), tuple(notes)


def shorten(text: str) -> str:
    """Cut a text for a note, and say so."""
    if len(text) <= MAX_NOTE_TEXT:
        return text
    return f"{text[:MAX_NOTE_TEXT]} [cut: {len(text)} characters]"


def _check_step(step: ChainStep, exhibits: Exhibits, ground: Ground) -> list[Cited]:
    if not step.citations:
        raise NotShown("it cites nothing")
    cited = [exhibits.check(citation) for citation in step.citations]
    _check_step_time(step, cited)
    reason = unsupported(step.text, ground | ground_of(cited) | Ground(moments=frozenset({step.at})))
    if reason is not None:
        raise NotShown(reason)
    return cited


def _check_step_time(step: ChainStep, cited: Sequence[Cited]) -> None:
    """Check that something cited is of that time: a moment, or a series that runs then."""
    for one in cited:
        if one.place.is_series:
            reach = one.item.observation.time_range
            if reach.start <= step.at <= reach.end:
                return
    moments = [moment for one in cited for moment in one.place.moments]
    check_moment(step.at, moments, "what it cites")


def _holding(citations: Sequence[Citation], exhibits: Exhibits) -> list[Cited]:
    found: list[Cited] = []
    for citation in citations:
        try:
            found.append(exhibits.check(citation))
        except NotShown:
            continue
    return found
