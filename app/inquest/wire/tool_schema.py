"""The frame of every tool's JSON Schema: closed, with the two times that a model may narrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inquest.domain.value import Json

MAX_SEARCH_CHARS = 200

START: Json = {
    "type": "string",
    "format": "date-time",
    "description": "Begin of the time range, RFC 3339 UTC. Default: begin of the incident window.",
}
END: Json = {
    "type": "string",
    "format": "date-time",
    "description": "End of the time range (exclusive), RFC 3339 UTC. Default: end of the incident window.",
}


def tool_schema(properties: Mapping[str, Json], *, required: Sequence[str] = ()) -> dict[str, Json]:
    """Give a closed schema (draft 2020-12) with `properties`, and `start` and `end`."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {**properties, "start": START, "end": END},
        "required": [*required],
    }


def text(description: str, *, most: int = MAX_SEARCH_CHARS) -> Json:
    """Give the schema of one line of text that is not empty."""
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}
