"""When two calls are the same one: by meaning, not by spelling (design 9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.observation import Query
from inquest.domain.value import Json, rfc3339
from inquest.domain.window import snap

DEFAULT_STEP_MS = 15_000
"""The grid for a tool that is no longer configured; the default of ToolSpec."""
_SPACES = re.compile(r"\s+")
_QUOTED = re.compile(r"(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`)")
_SPACE_AT_SIGN = re.compile(r"\s*([^\w\s])\s*")


def query_identity(query: Query, step_ms: int) -> str:
    """Give the digest that two queries share when they ask the same.

    Times count to their step; runs of white space count as one space, and in an expression, outside its
    quoted strings, white space beside a sign counts as none. Key order never counts (RFC 8785).
    """
    step = timedelta(milliseconds=step_ms)
    parts: list[Json] = [
        query.tool,
        query.service_id,
        {name: _plain(value, code=name == "expression") for name, value in query.arguments.items()},
        rfc3339(snap(query.time_range.start, step)),
        rfc3339(snap(query.time_range.end, step)),
        query.budget.model_dump(mode="json"),
        query.cursor,
    ]
    return digest_of(canonical_json(parts))


def internal_identity(tool: str, arguments: Mapping[str, Json]) -> str:
    """Give the digest that two calls of an internal tool share when they say the same."""
    return digest_of(canonical_json([tool, {name: _plain(value, code=False) for name, value in arguments.items()}]))


def _plain(value: Json, *, code: bool) -> Json:
    match value:
        case str():
            return _plain_code(value) if code else _SPACES.sub(" ", value).strip()
        case list():
            return [_plain(item, code=code) for item in value]
        case dict():
            return {key: _plain(item, code=code) for key, item in value.items()}
        case _:
            return value


def _plain_code(text: str) -> str:
    """Squeeze the white space of an expression, leaving what stands in quotes as it is."""
    parts = _QUOTED.split(text)
    squeezed = [
        part if position % 2 else _SPACE_AT_SIGN.sub(r"\1", _SPACES.sub(" ", part))
        for position, part in enumerate(parts)
    ]
    return "".join(squeezed).strip()
