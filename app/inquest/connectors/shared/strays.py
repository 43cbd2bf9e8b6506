"""Series and lines of an answer that nobody asked for: left out, counted, and said (design 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.value import Labels
from inquest.wire.matching import Bounds, asked_labels, is_stray

UNHELD = "the expression makes the labels of its answer: they were not held against what was selected"
"""The warning of an answer of which nobody can tell."""
MAX_NAMED = 8

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    """What of an answer was asked for. `why` is None where that is all of it."""

    kept: tuple[T, ...]
    why: Failure | None = None


def held(found: Iterable[T], labels_of: Callable[[T], Labels], bounds: Bounds | None) -> Held[T]:
    """Leave out what the selectors did not ask for. `bounds` of None leaves all: nobody can tell."""
    answered = tuple(found)
    if bounds is None:
        return Held(answered)
    kept = tuple(one for one in answered if not is_stray(labels_of(one), bounds))
    if len(kept) == len(answered):
        return Held(kept)
    names = asked_labels(bounds)
    by = f" by {', '.join(names[:MAX_NAMED])}" if names else ""
    return Held(
        kept,
        failure(
            FailureCode.CONTEXT_MISMATCH,
            f"{len(answered) - len(kept)} of {len(answered)} in the answer are none that the expression selects{by}: "
            "left out; check what stands before the source",
        ),
    )
