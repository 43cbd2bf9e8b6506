"""JSON pointers (RFC 6901) into the full content of an observation, and what lies around the place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from inquest.domain.value import from_epoch_ms

if TYPE_CHECKING:
    from inquest.domain.value import Json

MAX_POINTER_CHARS = 512
MAX_POINTER_DEPTH = 64
_INDEX = re.compile(r"^(?:0|[1-9][0-9]{0,9})\Z")
MOMENT_FIELDS = ("time", "active_at", "finished")
"""Fields of a record that hold epoch milliseconds, the one that dates the record first."""
_POINT_PARTS = 2


class PointerMissing(Exception):
    """The pointer leads nowhere; the message names the step that failed."""


@dataclass(frozen=True)
class Place:
    """What a pointer found: the value, the names on the way, and the containers around it, outermost first."""

    value: Json
    steps: tuple[str, ...]
    around: tuple[Json, ...]

    @property
    def chain(self) -> tuple[Json, ...]:
        """Give the value and its containers, innermost first."""
        return (self.value, *reversed(self.around))

    @property
    def record(self) -> dict[str, Json] | None:
        """Give the nearest object: the log line, sample, series or change that the value belongs to."""
        return next((part for part in self.chain if isinstance(part, dict)), None)

    @property
    def point(self) -> tuple[int, Json] | None:
        """Give the (epoch ms, value) pair of a series that the place is, or is a part of."""
        for depth, part in enumerate(self.chain):
            inside = len(self.steps) - depth
            if inside >= _POINT_PARTS and self.steps[inside - _POINT_PARTS] == "points":
                return _as_point(part)
        return None

    @property
    def series(self) -> dict[str, Json] | None:
        """Give the series that the place is, or lies in."""
        return next((part for part in self.chain if isinstance(part, dict) and "points" in part), None)

    @property
    def is_series(self) -> bool:
        """Say whether the place is a whole series."""
        return isinstance(self.value, dict) and "points" in self.value

    @property
    def moments(self) -> tuple[datetime, ...]:
        """Give the moments of the place, in UTC: of its point, else of its record; of a time field, just that."""
        if self.point is not None:
            return _moments(self.point[0])
        if self.steps and self.steps[-1] in MOMENT_FIELDS:
            return _moments(self.value)
        dated = next((part for part in self.chain if isinstance(part, dict) and "time" in part), self.record)
        if dated is None or self.is_series:
            return ()
        return tuple(moment for name in MOMENT_FIELDS for moment in _moments(dated.get(name)))


def resolve(document: Json, pointer: str) -> Place:
    """Follow `pointer` into `document`; "" is the whole of it. Raises PointerMissing."""
    if pointer and not pointer.startswith("/"):
        raise PointerMissing("a pointer is empty or begins with /")
    if len(pointer) > MAX_POINTER_CHARS:
        raise PointerMissing(f"a pointer has at most {MAX_POINTER_CHARS} characters")
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    if len(steps) > MAX_POINTER_DEPTH:
        raise PointerMissing(f"a pointer has at most {MAX_POINTER_DEPTH} steps")
    around: list[Json] = []
    value = document
    for step in steps:
        around.append(value)
        value = _into(value, step)
    return Place(value, steps, tuple(around))


def _into(value: Json, step: str) -> Json:
    match value:
        case dict() if step in value:
            return value[step]
        case list() if _INDEX.match(step) and int(step) < len(value):
            return value[int(step)]
        case _:
            raise PointerMissing(f"there is no {step[:64]!r} at that place")


def _as_point(part: Json) -> tuple[int, Json] | None:
    match part:
        case [int(at), value]:
            return at, value
        case _:
            return None


def _moments(value: Json) -> tuple[datetime, ...]:
    if not isinstance(value, int) or isinstance(value, bool):
        return ()
    try:
        return (from_epoch_ms(value),)
    except (OverflowError, ValueError, OSError):
        return ()
