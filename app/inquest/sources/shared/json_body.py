"""A total reader of JSON bodies: it gives a value or says at which byte it cannot, and never raises.

Lenient where senders are known to be sloppy (a byte order mark, UTF-16, NaN, duplicate keys, raw line breaks
inside strings), bounded where they could be hostile.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable
from dataclasses import dataclass

from inquest.domain.canonical import MAX_SAFE_INTEGER
from inquest.domain.value import Json

MAX_DEPTH = 64
"""Arrays and objects inside each other (design 6)."""
MAX_KEYS = 1_000_000
"""Keys of all objects together: what 16 MiB of Alertmanager's own posts hold, and a third."""
MAX_SEPARATORS = 4_000_000
"""Commas and colons, inside strings too: counted before anything is built."""
MANY_SEPARATORS = 200_000
MAX_VALUES_IN_A_ROW = 2_000
"""A body of MANY_SEPARATORS or more has an object among this many values: the scanner lets other threads run
only where an object ends, and a million bare values in a row held it for 1 to 2 s (measured)."""
_SAFE_DIGITS = 15
"""An integer of as many digits is exact in every JSON reader."""
_MAX_NAMED = 8
"""Duplicate keys that a warning names."""


@dataclass(frozen=True, slots=True)
class Read:
    """The value, and what was forgiven.

    Integers beyond 2^53 - 1 and numbers that have no finite double are strings, as they were written; NaN and
    the infinities are the strings "NaN", "Infinity", "-Infinity".
    """

    value: Json
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why there is no value: a code, and the first byte where it goes wrong if there is one."""

    reason: str


def read_json(body: bytes) -> Read | Unreadable:
    """Read `body`, whose size the caller has bounded. Never raises."""
    decoded = _too_many_values(body) or _decode(body)
    if isinstance(decoded, Unreadable):
        return decoded
    try:
        read = _scan(decoded)
    except json.JSONDecodeError as error:
        return Unreadable(f"invalid_json at byte {decoded.byte_offset(error.pos)}")
    except _TooManyKeysError:
        return Unreadable(f"too_many_values: more than {MAX_KEYS} keys")
    except RecursionError:
        read = None
    if read is None or _is_deeper(read.value, MAX_DEPTH):
        return Unreadable(f"too_deep: nested deeper than {MAX_DEPTH}")
    return read


def _too_many_values(body: bytes) -> Unreadable | None:
    separators = body.count(b",") + body.count(b":")
    if separators > MAX_SEPARATORS:
        return Unreadable(f"too_many_values: more than {MAX_SEPARATORS} separators")
    if separators > MANY_SEPARATORS and separators > MAX_VALUES_IN_A_ROW * body.count(b"}"):
        return Unreadable(f"too_many_values: more than {MAX_VALUES_IN_A_ROW} in one object or array")
    return None


@dataclass(frozen=True, slots=True)
class _Decoded:
    text: str
    encoding: str
    mark_bytes: int
    warnings: tuple[str, ...] = ()

    def byte_offset(self, position: int) -> int:
        """Give the byte of the body at which the character `position` of the text begins."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        return self.mark_bytes + len(self.text[:position].encode(self.encoding, errors))


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that one's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _decode(body: bytes) -> _Decoded | Unreadable:
    mark, encoding = next(((mark, name) for mark, name in _MARKS if body.startswith(mark)), (b"", "utf-8"))
    if not mark:
        encoding = json.detect_encoding(body)
    raw = body[len(mark) :]
    said = (
        (f"the body is {encoding}{' with a byte order mark' if mark else ''}",) if mark or encoding != "utf-8" else ()
    )
    if encoding != "utf-8":
        try:
            return _Decoded(raw.decode(encoding), encoding, len(mark), said)
        except UnicodeDecodeError as error:
            return Unreadable(f"invalid_{encoding} at byte {len(mark) + error.start}")
    try:
        return _Decoded(raw.decode("utf-8"), "utf-8", len(mark), said)
    except UnicodeDecodeError as error:
        # Bytes that are no UTF-8 become lone surrogates, so that offsets stay exact; the sanitiser shows them.
        first = f"invalid UTF-8 from byte {len(mark) + error.start}"
        return _Decoded(raw.decode("utf-8", "surrogateescape"), "utf-8", len(mark), (*said, first))


def _scan(decoded: _Decoded) -> Read:
    reader = _Reader()
    warnings = list(decoded.warnings)
    try:
        value = reader.read(decoded.text, strict=True)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Invalid control character"):
            raise
        value = reader.read(decoded.text, strict=False)
        warnings.append("raw control characters inside strings")
    if reader.duplicates:
        warnings.append(f"duplicate keys, the last one holds: {', '.join(map(ascii, reader.duplicates))}")
    return Read(value, tuple(warnings))


class _TooManyKeysError(Exception):
    """Ends a reading."""


class _Reader:
    """The standard library's scanner with our numbers, and a look at every object's keys."""

    def __init__(self) -> None:
        self.duplicates: list[str] = []
        self._keys = 0

    def read(self, text: str, *, strict: bool) -> Json:
        self.duplicates.clear()
        self._keys = 0
        value: Json = json.loads(
            text,
            strict=strict,
            object_pairs_hook=self._object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=str,
        )
        return value

    def _object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        self._keys += len(pairs)
        if self._keys > MAX_KEYS:
            raise _TooManyKeysError
        read = dict(pairs)
        if len(read) < len(pairs) and len(self.duplicates) < _MAX_NAMED:
            self.duplicates.extend(_repeated(name for name, _ in pairs)[: _MAX_NAMED - len(self.duplicates)])
        return read


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return sorted({name[:64] for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]


def _integer(digits: str) -> int | str:
    """Read an integer, as text where a double would round it: an id of 20 digits stays what it is."""
    if len(digits) <= _SAFE_DIGITS:
        return int(digits)
    if len(digits) <= _SAFE_DIGITS + 2 and abs(int(digits)) <= MAX_SAFE_INTEGER:
        return int(digits)
    return digits


def _number(digits: str) -> float | str:
    """Read a number, as text where it has no finite double (1e400)."""
    value = float(digits)
    return value if abs(value) != float("inf") else digits


def _is_deeper(value: Json, depth: int) -> bool:
    """Say whether containers stand more than `depth` inside each other. Level by level: no recursion."""
    level: list[Json] = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return bool(level)
