"""Reading evidence through any connector, with nothing left to its good manners.

The tools of this package check themselves (`read_tool`); a connector of somebody else's may not. Here the
same promises are kept around both: an outcome of the closed union, within its time, whose observations agree
with what was asked, and no exception but a cancel.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import datetime

from pydantic import BaseModel, ValidationError

from inquest.domain.canonical import digest_of
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.observation import Context, Error, Observation, Partial, Query
from inquest.domain.tool import ToolSpec
from inquest.domain.value import rfc3339
from inquest.ports import Connector, InvalidQuery, Reading, Tool
from inquest.wire.apart import apart
from inquest.wire.observe import content_bytes
from inquest.wire.redaction import Redactor
from inquest.wire.refusals import context_refusal

GRACE_S = 0.5
"""A tool that keeps no time of its own is ended so long after the query's timeout."""

Unexpected = Callable[[Exception], None]
"""Told of an exception that no connector should raise; its text goes nowhere else."""

_FORMATS = Redactor()


def read_query(raw: Mapping[str, object]) -> Query | Failure:
    """Read a query from loose JSON: exactly its keys, budgets under their ceilings, times with a zone.

    Times are RFC 3339 text or aware datetimes. The failure names the field and never repeats a value.
    """
    try:
        return Query.model_validate_json(_as_json(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(step)[:64] for step in first["loc"]) or "query"
        return failure(FailureCode.INVALID_QUERY, f"{place}: {first['type']}")
    except (TypeError, ValueError, RecursionError):
        return failure(FailureCode.INVALID_QUERY, "query: is not JSON")


async def execute_read(
    connector: Connector,
    context: Context,
    query: Query | Mapping[str, object],
    *,
    unexpected: Unexpected = lambda _: None,
) -> Reading:
    """Ask one page of one tool of `connector`. CancelledError passes; nothing else is raised.

    `unexpected` is told of an exception that was mapped to a failure code and is a bug.
    """
    asked = query if isinstance(query, Query) else read_query(query)
    if isinstance(asked, Failure):
        return _refused(asked)
    refused = context_refusal(context, connector.context, _FORMATS)
    if refused is not None:
        return _refused(refused)
    tool = next((one for one in connector.tools if one.spec.name == asked.tool), None)
    if tool is None:
        return _refused(failure(FailureCode.CAPABILITY_DENIED, "tool: not one of this connector"))
    reading = await _read(tool, context, asked, unexpected)
    return await apart(_without_strangers, reading, asked, context, tool.spec)


async def _read(tool: Tool, context: Context, query: Query, unexpected: Unexpected) -> Reading:
    try:
        async with asyncio.timeout(query.budget.timeout_ms / 1000 + GRACE_S):
            return await tool.read(context, query)
    except TimeoutError:
        return _failed(failure(FailureCode.TIMEOUT, f"timeout_ms: {query.budget.timeout_ms} are used"))
    except Exception as error:  # a tool never raises at its caller: the host is told, the reply has a failure code
        unexpected(error)
        return _failed(failure_of(error))


def failure_of(error: Exception) -> Failure:
    """Give the failure code that any exception of a tool amounts to, without its text."""
    match error:
        case InvalidQuery(hint=hint):
            return failure(FailureCode.INVALID_QUERY, _FORMATS.text(str(hint))[:500])
        case TimeoutError():
            return failure(FailureCode.TIMEOUT)
        case ValidationError() | KeyError() | AttributeError() | TypeError() | IndexError():
            return failure(FailureCode.SCHEMA_DRIFT, "the connector could not read the answer")
        case ValueError() | RecursionError() | MemoryError():
            return failure(FailureCode.MALFORMED_RESULT, "the connector could not read the answer")
        case PermissionError():
            return failure(FailureCode.CAPABILITY_DENIED)
        case _:
            return failure(FailureCode.PROVIDER_ERROR, "the connector failed")


def disagreement(
    observation: Observation, query: Query, context: Context, spec: ToolSpec, contents: Mapping[str, bytes]
) -> str | None:
    """Name the fields in which `observation` disagrees with what was asked, None where it agrees (checklist 30)."""
    said = {
        "tenant": (observation.tenant, context.tenant),
        "workspace": (observation.workspace, context.workspace),
        "source": (observation.source, spec.source),
        "signal": (observation.signal, spec.signal),
        "tool": (observation.tool, query.tool),
        "service": (observation.service, query.service_id),
        "time_range": (observation.time_range, query.time_range),
        "cursor": (observation.cursor, query.cursor),
    }
    wrong = [name for name, (found, wanted) in said.items() if found != wanted]
    full = contents.get(observation.digest)
    if full is None or digest_of(full) != observation.digest:
        wrong.append("digest")
    elif not observation.truncated and content_bytes(observation.content) != full:
        wrong.append("content")
    return ", ".join(wrong) or None


def _without_strangers(reading: Reading, query: Query, context: Context, spec: ToolSpec) -> Reading:
    """Leave out observations that disagree with the query; the failure names how many and in what."""
    outcome = reading.outcome
    if isinstance(outcome, Error):
        return reading
    wrong = {
        one.observation_id: disagreement(one, query, context, spec, reading.contents) for one in outcome.observations
    }
    kept = tuple(one for one in outcome.observations if wrong[one.observation_id] is None)
    if len(kept) == len(outcome.observations):
        return reading
    fields = sorted({name for said in wrong.values() if said for name in said.split(", ")})
    code = FailureCode.CONTEXT_MISMATCH if {"tenant", "workspace"} & set(fields) else FailureCode.SCHEMA_DRIFT
    why = failure(
        code, f"{len(outcome.observations) - len(kept)} observations disagree with the query in {', '.join(fields)}"
    )
    contents = {one.digest: reading.contents[one.digest] for one in kept}
    ended = Partial(observations=kept, error=why, next_cursor=outcome.next_cursor) if kept else Error(error=why)
    return Reading(outcome=ended, contents=contents, exchanges=reading.exchanges)


def _as_json(raw: Mapping[str, object]) -> str:
    def written(value: object) -> object:
        if isinstance(value, datetime):
            return rfc3339(value) if value.tzinfo else value.isoformat()
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json")
        raise TypeError

    return json.dumps(dict(raw), default=written, allow_nan=False)


def _refused(why: Failure) -> Reading:
    return Reading(outcome=Error(error=why), contents={}, exchanges=0)


def _failed(why: Failure) -> Reading:
    return Reading(outcome=Error(error=why), contents={})
