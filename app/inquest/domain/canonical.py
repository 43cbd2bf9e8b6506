"""Canonical JSON (RFC 8785) and digests: the same bytes on every machine, locale and hash seed."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import rfc8785

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that RFC 8785 can write exactly (IEEE 754 doubles)."""


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
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return 0 if value == 0 else value


def canonical_json(value: JsonValue) -> bytes:
    """Give the RFC 8785 bytes of `value` after `normalise`.

    Raises rfc8785.CanonicalizationError for text with lone surrogates: all foreign text
    passes the sanitiser first.
    """
    return rfc8785.dumps(normalise(value))


def digest_of(raw: bytes) -> str:
    """Give "sha256:" + 64 hex digits over `raw`."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()
