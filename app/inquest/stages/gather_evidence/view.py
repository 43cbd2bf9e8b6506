"""What an investigator may look at: built from the state, for the loop and for diagnose alike. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError
from typing_extensions import override

from inquest.analysis.decisive import decisive_in
from inquest.domain.event import Evicted
from inquest.domain.signals import Other, SignalContent, signal_content
from inquest.ports import LoopView
from inquest.stages.exhibits import held_at_once
from inquest.stages.gather_evidence.answers import exchange
from inquest.stages.gather_evidence.conversation import conversation
from inquest.stages.gather_evidence.internal_tools import OWN_TOOLS
from inquest.stages.gather_evidence.kit import Frame
from inquest.stages.gather_evidence.limits import answer_tokens
from inquest.stages.gather_evidence.state import LoopState

MAX_PARSED = 8
"""Contents whose parsed form is kept at once; the bytes of all are held anyway."""


class ParsedContents(Mapping[str, SignalContent]):
    """Contents by digest, parsed when one is looked at, the last few kept.

    Bytes that fit no kind of signal are given as Other, with their text.
    """

    def __init__(self, raw: Mapping[str, bytes]) -> None:
        self._raw = raw
        self._parsed: dict[str, SignalContent] = {}

    @override
    def __getitem__(self, digest: str) -> SignalContent:
        if digest not in self._parsed:
            parsed = _parsed(self._raw[digest])
            while len(self._parsed) >= MAX_PARSED:
                self._parsed.pop(next(iter(self._parsed)))
            self._parsed[digest] = parsed
        return self._parsed[digest]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    @override
    def __len__(self) -> int:
        return len(self._raw)


def loop_view(state: LoopState, frame: Frame, contents: Mapping[str, bytes]) -> LoopView:
    """Give everything that the next turn, or diagnose once the loop has ended, may look at.

    `contents` are the stored bytes of `held_digests(state)`. Evictions are those that the journal has;
    `with_evicted` adds more for a request that is not the loop's.
    """
    last = state.withdrawn is not None or state.investigation.gathered is not None
    offered = () if last else (state.offered or ())
    known = {**frame.tools, **OWN_TOOLS}
    return LoopView(
        investigation=state.investigation,
        turn=state.next_turn,
        last=last,
        tools=tuple(known[name] for name in offered if name in known),
        messages=conversation(state, frame, tools=not last),
        exchanges=tuple(exchange(state, answer, frame, state.evicted) for answer in state.answers),
        evidence=state.evidence,
        excluded=state.excluded,
        asked=state.asked,
        contents=ParsedContents(contents),
        ledger=state.ledger,
        spend=state.spend,
        guarded_tokens=state.guarded_tokens,
        dearest_turn_usd_micros=state.dearest_turn_usd_micros,
        max_output_tokens=answer_tokens(state.investigation.limits),
    )


def held_digests(state: LoopState) -> tuple[str, ...]:
    """Name the contents of evidence that are held: in order of admission, while their bytes fit the cap."""
    return held_at_once(state.evidence)


def with_evicted(state: LoopState, paths: tuple[str, ...]) -> LoopState:
    """Give the state as if `paths` had been evicted too: for counting, and for requests outside the loop."""
    if not paths:
        return state
    return state.but(steering=(*state.steering, Evicted(turn=state.next_turn, keys=paths)))


def has_decisive(state: LoopState, contents: Mapping[str, SignalContent]) -> bool:
    """Say whether some admitted observation settles a cause by the closed list; no text of a model can."""
    return any(
        decisive_in(item.observation.signal, contents[item.observation.digest]) is not None
        for item in state.evidence
        if item.observation.signal in ("metrics", "workloads") and item.observation.digest in contents
    )


def _parsed(raw: bytes) -> SignalContent:
    try:
        return signal_content.validate_json(raw)
    except ValidationError:
        return Other(value=raw.decode("utf-8", "replace"))
