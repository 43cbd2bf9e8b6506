"""Fitting the conversation to the window: what goes first when not everything fits. Pure.

Seeds, alert, plan and the index of what was asked stay. The newest batch goes last, for nobody has read it
yet; should even that not do, seeds go too, because a request that does not fit is no request.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from inquest.stages.gather_evidence.identity import internal_identity
from inquest.stages.gather_evidence.limits import FILL
from inquest.stages.gather_evidence.render import is_empty
from inquest.stages.gather_evidence.state import SEED_BATCH, Answer, LoopState

REFUSED_OR_REPEATED, FAILED, EMPTY, SUPERSEDED, UNREAD, READ, NEWEST, SEED = range(8)


def evictions(state: LoopState, room_tokens: int, count: Callable[[tuple[str, ...]], int]) -> tuple[str, ...]:
    """Give the paths to evict so that the request takes at most `room_tokens`; () when it fits.

    `count` gives the tokens of the request with these paths evicted beside those already gone.
    """
    if count(()) <= room_tokens:
        return ()
    return fewest(eviction_order(state), int(room_tokens * FILL), count)


def fewest(order: tuple[str, ...], room_tokens: int, count: Callable[[tuple[str, ...]], int]) -> tuple[str, ...]:
    """Give the shortest beginning of `order` with which the request fits `room_tokens`; all of it if none does."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if count(order[:middle]) <= room_tokens:
            high = middle
        else:
            low = middle + 1
    return order[:low]


def eviction_order(state: LoopState) -> tuple[str, ...]:
    """List what may still be evicted, lowest value first, older first among equals."""
    cited = frozenset(name for entry in state.ledger.entries for name in entry.evidence)
    newest = state.last_batch()
    superseded = _superseded(state)
    ranked: list[tuple[int, int, str]] = []
    for place, answer in enumerate(state.answers):
        if answer.path not in state.evicted:
            ranked.append((_value(state, answer, cited, newest, superseded), place, answer.path))
    said = [
        (NEWEST if turn.batch == newest else UNREAD, at - len(state.turns), turn.batch)
        for at, turn in enumerate(state.turns)
        if turn.batch not in state.evicted
    ]
    return tuple(path for _, _, path in sorted([*ranked, *said]))


def _value(state: LoopState, answer: Answer, cited: frozenset[str], newest: str, superseded: frozenset[str]) -> int:
    if answer.batch == SEED_BATCH:
        return SEED
    if answer.batch == newest:
        return NEWEST
    if answer.how in ("refusal", "replay", "internal"):
        return REFUSED_OR_REPEATED
    return _value_read(state, answer, cited, superseded)


def _value_read(state: LoopState, answer: Answer, cited: frozenset[str], superseded: frozenset[str]) -> int:
    """Rank an older answer that came from outside."""
    items = [item for name in answer.evidence if (item := state.item(name)) is not None]
    if answer.failure is not None and not items:
        return FAILED
    if answer.how == "receipt" and all(is_empty(item.observation) for item in items):
        return EMPTY
    if answer.path in superseded:
        return SUPERSEDED
    return READ if cited & frozenset(answer.evidence) or answer.how == "interrupt" else UNREAD


def _superseded(state: LoopState) -> frozenset[str]:
    """Find calls that a later call of the same tool, with the same arguments, covers in time."""
    latest: dict[str, tuple[datetime, datetime]] = {}
    covered: set[str] = set()
    paths = {answer.key: answer.path for answer in state.answers if answer.how == "receipt"}
    for asked in reversed(state.asked):
        if asked.failure is not None or not asked.evidence:
            continue
        window = asked.query.time_range
        same = internal_identity(asked.query.tool, {**asked.query.arguments, "cursor": asked.query.cursor})
        later = latest.get(same)
        if later is not None and later[0] <= window.start and window.end <= later[1]:
            covered.add(paths[asked.effect_key])
        else:
            latest[same] = (window.start, window.end)
    return frozenset(covered)
