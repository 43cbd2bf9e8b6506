"""Cutting a JSON value to a number of bytes so that it is a whole JSON value again."""

from __future__ import annotations

from inquest.domain.canonical import canonical_json
from inquest.domain.value import Json

MIN_PART_BYTES = 48
"""A list's last member is shown in part only when at least this much room is left for it."""


def size_of(value: Json) -> int:
    """Count the canonical UTF-8 bytes of `value`."""
    return len(canonical_json(value))


def fit(value: Json, room: int) -> Json:
    """Give as much of `value` as fits into `room` bytes (at least 2): the beginning, never the end.

    Lists lose their last members, texts their last characters; an object keeps its names while they fit,
    and its largest members are cut first.
    """
    if size_of(value) <= room:
        return value
    match value:
        case list():
            return _fit_list(value, room)
        case dict():
            return _fit_object(value, room)
        case str():
            return _fit_text(value, room)
        case _:
            return None if room >= len("null") else ""


def cut_text(text: str, room: int) -> str:
    """Give the beginning of `text` that fits into `room` bytes of UTF-8, whole characters only."""
    return text.encode("utf-8")[:room].decode("utf-8", "ignore")


def _fit_list(items: list[Json], room: int) -> list[Json]:
    kept: list[Json] = []
    used = len("[]")
    for item in items:
        comma = 1 if kept else 0
        size = size_of(item)
        if used + comma + size <= room:
            kept.append(item)
            used += comma + size
            continue
        left = room - used - comma
        if left >= MIN_PART_BYTES and isinstance(item, list | dict | str):
            kept.append(fit(item, left))
        break
    return kept


def _fit_object(members: dict[str, Json], room: int) -> dict[str, Json]:
    """Give the small members whole and cut the large ones; a name without room for an empty value goes."""
    frames = {name: size_of(name) + len(":") + len(",") for name in members}
    by_size = sorted(members, key=lambda name: (size_of(members[name]), name))
    kept: dict[str, Json] = {}
    left = room - len("{}")
    later = sum(frames.values()) + len(frames) * len("[]")
    for name in by_size:
        later -= frames[name] + len("[]")
        own = left - frames[name] - later
        if own < MIN_PART_BYTES:
            own = left - frames[name]  # the later names go
        if own < len("[]"):
            break
        kept[name] = fit(members[name], own)
        left -= frames[name] + size_of(kept[name])
    return {name: kept[name] for name in members if name in kept}


def _fit_text(text: str, room: int) -> str:
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size_of(text[:middle]) <= room else (low, middle - 1)
    return text[:low]
