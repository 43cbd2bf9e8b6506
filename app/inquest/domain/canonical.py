"""Canonical JSON (RFC 8785) and digests: the same bytes on every machine, locale and hash seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that RFC 8785 can write exactly (IEEE 754 doubles)."""
_NO_JSON_FORM = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}
_EXPONENT_ABOVE = 20
"""A power of ten above which a number is written with an exponent (ECMA-262, Number::toString)."""
_EXPONENT_BELOW = -6


def normalise(value: JsonValue) -> JsonValue:
    """Make `value` writable as canonical JSON without losing anything silently.

    Integers beyond 2^53 - 1 become decimal strings, -0.0 becomes 0. NaN and the
    infinities have no JSON form: they become the strings "NaN", "+Inf", "-Inf", the
    forms that Prometheus uses.
    """
    match value:
        case bool() | None | str():
            return value
        case int():
            return value if abs(value) <= MAX_SAFE_INTEGER else str(value)
        case float():
            return _finite(value)
        case list():
            return [normalise(item) for item in value]
        case dict():
            return {key: normalise(item) for key, item in value.items()}


def _finite(value: float) -> JsonValue:
    if not math.isfinite(value):
        return _NO_JSON_FORM[float.__repr__(value)]
    return 0 if value == 0 else value


def canonical_json(value: JsonValue) -> bytes:
    """Give the RFC 8785 bytes of `value` after `normalise`.

    Raises UnicodeEncodeError for text with lone surrogates (all foreign text passes the sanitiser first),
    and TypeError for what is no JSON value.
    """
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts).encode()


def digest_of(raw: bytes) -> str:
    """Give "sha256:" + 64 hex digits over `raw`."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


# ---- the writer (ADR 0017: each of these lines is run for every value of every answer) -------------------


def _write(value: JsonValue, put: Callable[[str], None]) -> None:
    """Write `value` as `normalise` would make it, the commonest types first: one walk instead of two."""
    if isinstance(value, str):
        put(quoted(value))
    elif value is None or value is True or value is False:
        put("null" if value is None else "true" if value else "false")
    elif isinstance(value, int):
        put(int.__repr__(value) if abs(value) <= MAX_SAFE_INTEGER else f'"{int.__repr__(value)}"')
    elif isinstance(value, float):
        put(_number(value))
    elif isinstance(value, list):
        before = "["
        for item in value:
            put(before)
            _write(item, put)
            before = ","
        put("]" if value else "[]")
    elif isinstance(value, dict):
        _write_members(value, put)
    else:
        _refuse(value)


def _write_members(members: dict[str, JsonValue], put: Callable[[str], None]) -> None:
    """Write an object, its names in the order of their UTF-16 code units, which differs only beyond ASCII."""
    names = sorted(members)
    if not "".join(names).isascii():
        names.sort(key=lambda name: name.encode("utf-16-be"))
    before = "{"
    for name in names:
        put(f"{before}{quoted(name)}:")
        _write(members[name], put)
        before = ","
    put("}" if names else "{}")


def _refuse(value: object) -> NoReturn:
    msg = f"{type(value).__name__} is no JSON value"
    raise TypeError(msg)


def _number(value: float) -> str:
    """Write a number as ECMAScript does. Python finds the same shortest digits and sets the exponent otherwise."""
    text = float.__repr__(value)
    if "e" in text:
        return _with_exponent(text)
    if text.endswith(".0"):
        return text[:-2] if value else "0"
    return text if text not in _NO_JSON_FORM else f'"{_NO_JSON_FORM[text]}"'


def _with_exponent(text: str) -> str:
    """Write out the zeros of a number such as 1.5e+16 or 1.5e-05, as far as ECMAScript writes them out."""
    shown, _, power = text.partition("e")
    exponent = int(power)
    sign, digits = "-" * shown.startswith("-"), shown.lstrip("-").replace(".", "")
    if 0 < exponent <= _EXPONENT_ABOVE:
        return sign + digits.ljust(exponent + 1, "0")
    if _EXPONENT_BELOW <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{shown}e{exponent:+d}"
