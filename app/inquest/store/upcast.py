"""Read event bodies of earlier schema versions: each is lifted, version by version, to this release's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from inquest.domain.event import EVENT_SCHEMA_VERSION, EventBody, event_body
from inquest.domain.value import Json
from inquest.errors import ReplayMismatch

OLDEST_SCHEMA_VERSION = 1
Upcaster = Callable[[dict[str, Json]], dict[str, Json]]
UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""By kind and the version it lifts from, to the next one. A kind that did not change has none, nor has one that only
gained a field whose absence means what it meant before (`limits.max_questions` of run_started, version 2)."""


def read_body(
    kind: str,
    schema_version: int,
    raw: bytes,
    *,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
    newest: int = EVENT_SCHEMA_VERSION,
) -> EventBody:
    """Parse the body of an event as it was stored.

    Raises ReplayMismatch for a version that this release does not know (it is refused, not guessed), for a
    body of another kind, and for one that does not have its version's shape.
    """
    if not OLDEST_SCHEMA_VERSION <= schema_version <= newest:
        known = f"{OLDEST_SCHEMA_VERSION} to {newest}"
        raise ReplayMismatch(f"schema version {schema_version} is unknown: this release reads {known}")
    try:
        body = event_body.validate_json(_lifted(kind, schema_version, raw, upcasters, newest))
    except ValueError as error:  # pydantic's ValidationError and json's errors among them
        raise ReplayMismatch(f"the body is no {kind} of schema version {schema_version}") from error
    if body.kind != kind:
        raise ReplayMismatch(f"the body is {body.kind}, the row says {kind}")
    return body


def _lifted(
    kind: str, schema_version: int, raw: bytes, upcasters: Mapping[tuple[str, int], Upcaster], newest: int
) -> bytes:
    if schema_version == newest:
        return raw
    fields = json.loads(raw)
    if not isinstance(fields, dict):
        raise ValueError("the body of an event is an object")  # noqa: TRY004  # read_body translates ValueError
    for version in range(schema_version, newest):
        lift = upcasters.get((kind, version))
        fields = lift(fields) if lift else fields
    return json.dumps(fields).encode()
