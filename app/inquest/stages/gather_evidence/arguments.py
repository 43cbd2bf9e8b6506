"""Arguments of a call as a model wrote them: read, bounded, checked against the tool's schema."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from inquest.domain.budget import MAX_ARGUMENT_BYTES
from inquest.domain.canonical import MAX_SAFE_INTEGER
from inquest.domain.value import Json, from_epoch_ms
from inquest.domain.window import IncidentWindow, Window, snap

MAX_DEPTH = 16
MAX_SCHEMA_ERRORS = 3
MAX_HINT_CHARS = 2_400
"""Enough to list every tool on offer."""
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_MILLISECONDS_FROM = 100_000_000_000
"""A number of time above this is milliseconds (as seconds it would be in the year 5138)."""


class BadArguments(Exception):  # says what they are
    """Arguments that cannot be used; `hint` is ours and says what to do. Nothing is sent."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint[:MAX_HINT_CHARS]


# ---- reading -------------------------------------------------------------------------------------------


def parse(raw: str, *, cut: bool) -> dict[str, Json]:
    """Read the raw text of arguments; "" is no arguments. `cut`: the reply ended at its token limit.

    Raises BadArguments for text over the cap (unparsed), text that is no JSON object, control characters,
    lone surrogates, numbers that JSON cannot carry exactly, and nesting past MAX_DEPTH.
    """
    size = len(raw.encode("utf-8", "replace"))
    if size > MAX_ARGUMENT_BYTES:
        raise BadArguments(f"the arguments have {size} bytes, {MAX_ARGUMENT_BYTES} are allowed")
    if not raw.strip():
        return {}
    try:
        found = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        ended = "the reply was cut at its token limit: ask fewer or shorter calls" if cut else "write one JSON object"
        raise BadArguments(f"the arguments are not readable JSON; {ended}") from error
    if not isinstance(found, dict):
        raise BadArguments("the arguments are not a JSON object; write one JSON object")
    _check(found, depth=1)
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check(value: Json, *, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadArguments(f"the arguments are nested deeper than {MAX_DEPTH}")
    match value:
        case str():
            if _UNREADABLE.search(value):
                raise BadArguments("the arguments hold control characters or broken Unicode; leave them out")
        case float():
            if not math.isfinite(value):
                raise BadArguments("a number in the arguments is too large")
        case int():
            if abs(value) > MAX_SAFE_INTEGER:
                raise BadArguments("a number in the arguments is too large")
        case list() | dict():
            for inner in _inside(value):
                _check(inner, depth=depth + 1)
        case _:
            pass


def _inside(value: list[Json] | dict[str, Json]) -> Iterator[Json]:
    if isinstance(value, list):
        yield from value
        return
    yield from value
    yield from value.values()


# ---- the schema ----------------------------------------------------------------------------------------


def checked(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> dict[str, Json]:
    """Check `arguments` against a tool's JSON Schema (draft 2020-12) and fill the defaults of its properties.

    Raises BadArguments naming the places and the rules, never the values. No reference is ever fetched.
    """
    validator = Draft202012Validator(dict(schema), registry=Registry())
    errors = sorted(validator.iter_errors(dict(arguments)), key=lambda error: (error.json_path, str(error.validator)))
    if errors:
        said = "; ".join(_said(error) for error in errors[:MAX_SCHEMA_ERRORS])
        more = f"; and {len(errors) - MAX_SCHEMA_ERRORS} more" if len(errors) > MAX_SCHEMA_ERRORS else ""
        raise BadArguments(f"the arguments do not fit the tool: {said}{more}{_allowed(schema)}")
    properties = schema.get("properties")
    defaults: dict[str, Json] = {}
    for name, rule in (properties if isinstance(properties, dict) else {}).items():
        if name not in arguments and isinstance(rule, dict) and "default" in rule:
            defaults[name] = rule["default"]
    return {**arguments, **defaults}


def _said(error: ValidationError) -> str:
    place = "/".join(str(step)[:64] for step in error.absolute_path) or "arguments"
    match error.validator:
        case "additionalProperties":
            return f"{place}: has a field that the tool does not take"
        case "required":
            return f"{place}: lacks a required field (of {json.dumps(error.validator_value)[:200]})"
        case _:
            return f"{place}: {error.validator} {json.dumps(error.validator_value)[:200]}"


def _allowed(schema: Mapping[str, Json]) -> str:
    properties = schema.get("properties")
    return f". It takes: {', '.join(properties) or 'nothing'}" if isinstance(properties, dict) else ""


# ---- times ---------------------------------------------------------------------------------------------


def asked_window(arguments: Mapping[str, Json], allowed: IncidentWindow, step_ms: int) -> Window:
    """Give the stretch that `start` and `end` in `arguments` ask for; each is the incident's where missing.

    Times that were given are snapped down to the tool's step, but not to before what may be looked at.
    Raises BadArguments for times that cannot be read, run backwards, or lie outside baseline and incident.
    """
    start, end = arguments.get("start"), arguments.get("end")
    if start is None and end is None:
        return allowed.incident
    step, reach = timedelta(milliseconds=step_ms), allowed.reach
    first = allowed.incident.start if start is None else _moment(start, "start")
    last = allowed.incident.end if end is None else _moment(end, "end")
    if first >= last:
        raise BadArguments("start is not before end")
    if first < reach.start or last > reach.end:
        raise BadArguments(f"the time range lies outside {reach.start.isoformat()} .. {reach.end.isoformat()}")
    first = max(snap(first, step), reach.start) if start is not None else first
    last = snap(last, step) if end is not None else last
    if first >= last:
        last = min(first + step, reach.end)
    if first >= last:
        raise BadArguments("the time range is shorter than one step of the tool")
    return Window(start=first, end=last)


def _moment(value: Json, name: str) -> datetime:
    """Read RFC 3339 text (UTC where it names no zone) or epoch seconds or milliseconds."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return from_epoch_ms(round(value if abs(value) >= _MILLISECONDS_FROM else value * 1000))
    except (ValueError, OverflowError, OSError) as error:
        raise BadArguments(f"{name} cannot be read as a time; write it as 2026-03-01T10:00:00Z") from error
    raise BadArguments(f"{name} cannot be read as a time; write it as 2026-03-01T10:00:00Z")
