"""Pieces of a JSON answer, taken as they are documented to be; `Drift` and `Unreadable` say what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeVar

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.value import Json, Labels, epoch_ms
from inquest.wire.apart import apart

T = TypeVar("T")

MAX_SECONDS = 253_402_300_799
"""The end of the year 9999, the last that a moment can be of."""


class Drift(Exception):
    """The answer is JSON but not of the documented shape; `hint` is ours and names the place."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


class Unreadable(Exception):
    """A value that should be a number or a time cannot be read as one; `hint` is ours."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


async def shaped(read: Callable[[], T]) -> T | Failure:
    """Shape an answer, in a thread: a large one takes a while. What does not fit is a failure that names the place."""
    try:
        return await apart(read)
    except Drift as drift:
        return failure(FailureCode.SCHEMA_DRIFT, f"{drift.hint}: not as documented")
    except Unreadable as unreadable:
        return failure(FailureCode.MALFORMED_RESULT, unreadable.hint)


def listed(found: Json, place: str) -> list[Json]:
    """Take a list. Raises Drift."""
    if found is None:
        return []  # Go writes an empty slice as null
    if not isinstance(found, list):
        raise Drift(place)
    return found


def rows(found: Json, place: str) -> Iterator[dict[str, Json]]:
    """Take a list of objects. Raises Drift."""
    for row in listed(found, place):
        if not isinstance(row, dict):
            raise Drift(place)
        yield row


def texts(found: Json, place: str) -> tuple[str, ...]:
    """Take a list of texts. Raises Drift."""
    taken = listed(found, place)
    if not all(isinstance(one, str) for one in taken):
        raise Drift(place)
    return tuple(str(one) for one in taken)


def labels(found: Json, place: str) -> Labels:
    """Take a label set. Raises Drift."""
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Drift(place)
    return {name: str(value) for name, value in found.items()}


def seconds(found: Json) -> float:
    """Take a duration; 0 where there is none, or none that a clock could count."""
    if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= MAX_SECONDS:
        return float(found)
    return 0.0


def rfc3339_ms(found: Json) -> int | None:
    """Take a time such as 2026-11-30T15:16:56.707624592Z as epoch milliseconds.

    None for Go's zero time and where there is none. Raises Unreadable.
    """
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(str(found))
        return None if moment.year <= 1 or moment.tzinfo is None else epoch_ms(moment)
    except (ValueError, OverflowError) as error:
        msg = "a time of the answer cannot be read"
        raise Unreadable(msg) from error
