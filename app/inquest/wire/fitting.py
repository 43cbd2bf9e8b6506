"""Cutting a JSON value to a number of bytes so that it is a whole JSON value again.

The work is in proportion to the room, not to the value: what is far too large is not measured to its end.
"""

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
    if _size_up_to(value, room) <= room:
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
    return text[:room].encode("utf-8")[:room].decode("utf-8", "ignore")


def _size_up_to(value: Json, limit: int) -> int:
    """Count the canonical bytes of `value`; once over `limit`, give any number over it."""
    match value:
        case str() if len(value) > limit:
            return limit + 1
        case list():
            size = len("[]") + max(0, len(value) - 1)
            for item in value:
                if size > limit:
                    break
                size += _size_up_to(item, limit - size)
            return size
        case dict():
            size = len("{}") + max(0, 2 * len(value) - 1)
            for name, item in value.items():
                if size > limit:
                    break
                size += size_of(name)
                size += _size_up_to(item, limit - size)
            return size
        case _:
            return size_of(value)


def _fit_list(items: list[Json], room: int) -> list[Json]:
    kept: list[Json] = []
    used = len("[]")
    for item in items:
        comma = 1 if kept else 0
        left = room - used - comma
        size = _size_up_to(item, left)
        if size <= left:
            kept.append(item)
            used += comma + size
            continue
        if left >= MIN_PART_BYTES and isinstance(item, list | dict | str):
            kept.append(fit(item, left))
        break
    return kept


def _fit_object(members: dict[str, Json], room: int) -> dict[str, Json]:
    """Give the small members whole and cut the large ones; a name without room for an empty value goes."""
    sizes = {name: _size_up_to(item, room) for name, item in members.items()}
    frames = {name: size_of(name) + len(":") + len(",") for name in members}
    kept: dict[str, Json] = {}
    left = room - len("{}")
    later = sum(frames.values()) + len(frames) * len("[]")
    for name in sorted(members, key=lambda name: (sizes[name], name)):
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
