"""Content as lines that a reader can point into: each begins with its JSON pointer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inquest.domain.canonical import canonical_json
from inquest.domain.value import Json, from_epoch_ms, rfc3339

LISTS = ("series", "samples", "lines", "changes", "alerts", "rules", "names")
"""The list that each kind of signal content (domain/signals.py) holds."""
SAMPLED_POINTS = 12
"""Points of a series that its line shows, evenly spread, beside the extremes."""
CUT = " … (cut)"


def lines_of(document: Json) -> Iterator[str]:
    """Give `document` as lines, made as they are taken: one an item of its list, else its text or compact JSON."""
    match document:
        case str():
            yield from document.splitlines() or [""]
        case dict():
            name = next((name for name in LISTS if isinstance(document.get(name), list)), None)
            if name is None:
                yield _compact(document)
            else:
                yield from _items(document, name)
        case _:
            yield _compact(document)


def one_line(line: str, most_bytes: int) -> str:
    """Cut `line` to `most_bytes` of UTF-8, and say so."""
    raw = line.encode("utf-8", "replace")
    if len(raw) <= most_bytes:
        return line
    return raw[: max(most_bytes - len(CUT.encode()), 0)].decode("utf-8", "ignore") + CUT


def fitted(lines: Iterable[str], most_bytes: int) -> list[str]:
    """Take the lines that fit, long ones cut, up to the first that does not; the first line always."""
    kept: list[str] = []
    used = 0
    for line in lines:
        cut = one_line(line, max(most_bytes // 4, 120))
        used += len(cut.encode()) + 1
        if used > most_bytes and kept:
            break
        kept.append(cut)
    return kept


def rest_of(document: Json) -> list[str]:
    """Give what `document` says beside its list, as one line; nothing where there is nothing else."""
    if not isinstance(document, dict) or not any(isinstance(document.get(name), list) for name in LISTS):
        return []
    rest: dict[str, Json] = {
        key: value for key, value in document.items() if key not in LISTS and value not in ([], {}, "", None)
    }
    return [_compact(rest)] if rest else []


def _items(document: dict[str, Json], name: str) -> Iterator[str]:
    items = document[name]
    for at, item in enumerate(items if isinstance(items, list) else []):
        yield f"/{name}/{at} {_item(item)}"


def _item(item: Json) -> str:
    match item:
        case {"labels": dict(labels), "points": list(points)}:
            return f"{_compact(labels)} {_course(points)}"
        case {"labels": dict(labels), "line": str(line), "time": int(time)}:
            return f"{_time(time)} {_compact(labels)} {line}"
        case {"labels": dict(labels), "time": int(time), "value": value}:
            return f"{_time(time)} {_compact(labels)} {_compact(value)}"
        case {"time": int(time)}:
            return f"{_time(time)} {_compact(item)}"
        case _:
            return _compact(item)


def _course(points: list[Json]) -> str:
    """Word the course of a series: extremes, and samples evenly spread as INDEX@TIME=VALUE; INDEX is for pointers."""
    known = [
        (at, point[0], point[1])
        for at, point in enumerate(points)
        if isinstance(point, list) and len(point) == 2 and isinstance(point[1], int | float)  # noqa: PLR2004  # (time, value)
    ]
    if not known:
        return f"{len(points)} points, none finite"
    least, most = min(known, key=lambda one: one[2]), max(known, key=lambda one: one[2])
    if least[2] == most[2]:
        return f"{len(points)} points, all {least[2]:g}: {_samples([known[0], known[-1]])}"
    step = max(len(known) // SAMPLED_POINTS, 1)
    chosen = {one[0]: one for one in (*known[::step], known[-1], least, most)}
    extremes = f"min {least[2]:g} @{least[0]}, max {most[2]:g} @{most[0]}"
    return f"{len(points)} points, {extremes}: {_samples([chosen[at] for at in sorted(chosen)])}"


def _samples(samples: list[tuple[int, Json, int | float]]) -> str:
    """Write samples; the date stands where it changes."""
    said: list[str] = []
    date = ""
    for at, time, value in samples:
        moment = _time(time)
        day, _, clock = moment.partition("T")
        said.append(f"{at}@{moment if day != date else clock}={value:g}")
        date = day
    return " ".join(said)


def _time(ms: Json) -> str:
    if not isinstance(ms, int):
        return "?"
    try:
        return rfc3339(from_epoch_ms(ms)).replace(".000Z", "Z")
    except (OverflowError, ValueError, OSError):
        return str(ms)


def _compact(value: Json) -> str:
    return canonical_json(value).decode()
