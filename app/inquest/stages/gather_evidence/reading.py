"""Reading more of an evidence item: by pointer, by fragment, or a range of lines. Pure and bounded."""

from __future__ import annotations

import json
from collections.abc import Mapping

from inquest.domain.canonical import canonical_json
from inquest.domain.value import Json
from inquest.stages.gather_evidence.excerpt import lines_of, one_line
from inquest.stages.pointer import PointerMissing, resolve

MAX_POINTED_LINES = 2_000
"""Lines of a pointed value that are made before the byte limit cuts them."""


class ReadingRefused(Exception):  # says what happened
    """The item cannot be read so; `hint` is ours."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


def read(content: bytes, arguments: Mapping[str, Json], *, most_bytes: int) -> str:
    """Give what `arguments` (pointer, grep or range; the beginning without any) name in `content`.

    The text says how much there is and how much is shown. Raises ReadingRefused.
    """
    ways = [name for name in ("pointer", "grep", "range") if name in arguments]
    if len(ways) > 1:
        raise ReadingRefused("give one of pointer, grep and range")
    document = _document(content)
    pointer = arguments.get("pointer")
    if isinstance(pointer, str):
        return _pointed(document, pointer, most_bytes)
    lines = list(lines_of(document))
    grep, span = arguments.get("grep"), arguments.get("range")
    if isinstance(grep, str):
        wanted = grep.casefold()
        found = [line for line in lines if wanted in line.casefold()]
        return shown(found, most_bytes, of=len(lines), what="lines contain it")
    if isinstance(span, list):
        first, last = (int(str(bound)) for bound in span)
        if first >= last:
            raise ReadingRefused("a range is [first, last) with first < last")
        return shown(lines[first:last], most_bytes, of=len(lines), what="lines are in the range")
    return shown(lines, most_bytes, of=len(lines), what="lines")


def shown(lines: list[str], most_bytes: int, *, of: int, what: str) -> str:
    """Join as many of `lines` as fit, and say how many there are."""
    kept: list[str] = []
    used = 0
    for line in lines:
        used += len(line.encode()) + 1
        if used > most_bytes and kept:
            break
        kept.append(one_line(line, most_bytes))
    more = "" if len(kept) == len(lines) else f", the first {len(kept)} shown"
    return "\n".join([f"{len(lines)} {what}{more}; {of} in all", *kept])


def _document(content: bytes) -> Json:
    """Read stored content: JSON, or text for what is not."""
    try:
        found: Json = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
    return found


def _pointed(document: Json, pointer: str, most_bytes: int) -> str:
    try:
        value = resolve(document, pointer).value
    except PointerMissing as missing:
        raise ReadingRefused(f"the pointer leads nowhere: {missing}") from missing
    if isinstance(value, list):
        lines = [f"{pointer}/{at} {_compact(item)}" for at, item in enumerate(value[:MAX_POINTED_LINES])]
        return shown(lines, most_bytes, of=len(value), what="items")
    return one_line(f"{pointer} {_compact(value)}", most_bytes)


def _compact(value: Json) -> str:
    return canonical_json(value).decode()
