"""Checks of claims about records: order in time, presence, absence, a state, a change event."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from inquest.domain.value import from_epoch_ms
from inquest.stages.claim_series import check_moment, check_near, onset_of, series_step
from inquest.stages.exhibits import NotShown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from inquest.domain.claim import Absent, ChangeEvent, Precedes, Present, StateIs
    from inquest.domain.value import Json
    from inquest.domain.window import IncidentWindow
    from inquest.stages.exhibits import Cited

MIN_FRAGMENT_CHARS = 3
LATE_BY = timedelta(minutes=5)
"""How far short of the moment of asking an answer may end and still be one "over the window"."""
_WORD = re.compile(r"[a-z]+")
KIND_WORDS = {
    "deployment": frozenset({"deploy", "deployed", "deployment", "rollout", "rollback"}),
    "merge_request": frozenset({"merge", "merged"}),
    "commit": frozenset({"commit", "committed"}),
}
"""By which words a sentence says what kind of change it was."""
LISTS = {
    "matrix": "series", "vector": "samples", "logs": "lines", "changes": "changes", "alerts": "alerts",
    "rules": "rules", "series": "series", "names": "names",
}  # fmt: skip
"""Where each kind of content keeps what matched. Other kinds cannot show that nothing did."""


def check_precedes(claim: Precedes, cited: Sequence[Cited], window: IncidentWindow | None) -> timedelta:
    """Check both moments against their citations, and their order; give the time between. Raises NotShown."""
    if len(cited) != 2:  # noqa: PLR2004  # a pair
        raise NotShown("two moments are to be cited, in their order")
    _check_when(claim.first_at, cited[0], window)
    _check_when(claim.then_at, cited[1], window)
    if claim.first_at >= claim.then_at:
        raise NotShown("the first moment is not before the second", contradicted=True)
    return claim.then_at - claim.first_at


def _check_when(said: datetime, cited: Cited, window: IncidentWindow | None) -> None:
    """Check a moment: of a series it is its onset, else the time of the cited place."""
    if cited.place.is_series:
        there = from_epoch_ms(onset_of([cited], window).at_ms)
        check_near(said, there, series_step(cited), f"the onset of {cited.item.name} is at")
    else:
        check_moment(said, cited.place.moments, f"what {cited.item.name} shows there")


def check_present(claim: Present, cited: Sequence[Cited]) -> None:
    """Check that every cited string contains the fragment. Raises NotShown."""
    if len(claim.fragment.strip()) < MIN_FRAGMENT_CHARS:
        raise NotShown(f"a fragment of fewer than {MIN_FRAGMENT_CHARS} characters says nothing")
    for one in cited:
        if not isinstance(one.place.value, str):
            raise NotShown(f"{one.item.name} is cited where there is no text")
        if claim.fragment not in one.place.value:
            raise NotShown(f"the text in {one.item.name} does not contain the fragment", contradicted=True)


def check_absent(claim: Absent, cited: Sequence[Cited], window: IncidentWindow | None) -> None:
    """Check that a complete answer over the window was empty. Raises NotShown.

    The window need not have been over: an answer that reaches to within LATE_BY of when it was asked is
    one over the window as far as there was one.
    """
    for one in cited:
        observation = one.item.observation
        if _plain(claim.query) != _plain(observation.expression or observation.tool):
            raise NotShown(f"{one.item.name} answers another query", contradicted=True)
        if observation.error is not None:
            raise NotShown(f"{one.item.name} is only a part of an answer: {observation.error.message}")
        if observation.truncated:
            raise NotShown(f"{one.item.name} was truncated")
        if observation.cursor is not None:
            raise NotShown(f"{one.item.name} is a later page of an answer")
        if window is not None:
            wanted = min(window.incident.end, observation.retrieved_at - LATE_BY)
            if observation.time_range.start > window.incident.start or observation.time_range.end < wanted:
                raise NotShown(f"{one.item.name} does not cover the incident window")
        if _matched(one):
            raise NotShown(f"{one.item.name} is not empty", contradicted=True)


def _matched(cited: Cited) -> bool:
    """Say whether anything matched. Raises NotShown for content that has no list of matches."""
    document = cited.place.around[0] if cited.place.around else cited.place.value
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(document, dict) or kind not in LISTS:
        raise NotShown(f"{cited.item.name} is of a kind that cannot show absence")
    return bool(document.get(LISTS[str(kind)]))


def check_state(claim: StateIs, cited: Sequence[Cited]) -> None:
    """Check that every cited field says the state. Raises NotShown."""
    for one in cited:
        if _scalar(one.place.value) != claim.state.strip().casefold():
            there = _scalar(one.place.value) or "no single value"
            raise NotShown(f"{one.item.name} says {there[:64]!r} there", contradicted=True)


def check_change_event(claim: ChangeEvent, cited: Sequence[Cited]) -> None:
    """Check that the cited record is that change, at that time. Raises NotShown."""
    record = cited[0].place.record
    if record is None or "change_id" not in record:
        raise NotShown(f"{cited[0].item.name} is cited where there is no change record")
    if record["change_id"] != claim.change_id:
        raise NotShown(f"the record there is of another change, {str(record['change_id'])[:64]!r}", contradicted=True)
    _check_kind(claim.what, record)
    moments = [record.get("time"), record.get("finished")]
    there = [from_epoch_ms(at) for at in moments if isinstance(at, int)]
    check_moment(claim.at, there, "the change")


def _check_kind(what: str, record: dict[str, Json]) -> None:
    """Check that a merge is not called a deployment: a kind that is said is the record's, or in its title."""
    said = set(_WORD.findall(what.lower()))
    titled = set(_WORD.findall(f"{record.get('title', '')} {record.get('service', '')}".lower()))
    for kind, words in KIND_WORDS.items():
        if kind != record.get("change") and (said & words) - titled:
            raise NotShown(f"the record there is of a {record.get('change')}, not of a {kind}", contradicted=True)


def _scalar(value: Json) -> str:
    match value:
        case bool():
            return str(value).casefold()
        case str():
            return value.strip().casefold()
        case int() | float():
            return str(value)
        case _:
            return ""


def _plain(query: str) -> str:
    return " ".join(query.split())
