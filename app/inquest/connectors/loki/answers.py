"""Loki's answers: `{"status": "success", "data": ...}`, or a refusal, mostly as plain text.

The words of the source choose a hint of ours and go no further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.value import Json
from inquest.wire.answer import Answer, read_json, status_failure

MAX_WARNINGS = 10
_READ_OF_A_REFUSAL = 4_000
_READ_OF_ITS_BEGIN = 100
_REFUSES_QUERY = frozenset({400, 422, 500})
"""Statuses under which Loki says something of the query; 500 where a querier said it."""
_NO_TENANT = "no org id"
_PARSE_ERROR = "parse error"
_TOO_MUCH = (
    ("max entries limit", "limit: Loki gives fewer lines at a time; ask for fewer"),
    ("query time range exceeds", "time_range: longer than Loki takes; narrow it"),
    ("max query length", "time_range: longer than Loki takes; narrow it"),
    ("max query lookback", "time_range: begins earlier than Loki takes"),
    ("would read too many", "the query would read more than Loki allows; narrow the selector or the time range"),
    ("query too large", "the query would read more than Loki allows; narrow the selector or the time range"),
    ("max query bytes", "the query would read more than Loki allows; narrow the selector or the time range"),
    ("maximum of series", "expression: gives more series than Loki allows; sum by fewer labels"),
    ("max query series", "expression: gives more series than Loki allows; sum by fewer labels"),
    ("maximum number of series", "expression: gives more series than Loki allows; sum by fewer labels"),
    ("streams matchers", "expression: has more matchers than Loki allows"),
    ("too many chunks", "the query would read more than Loki allows; narrow the selector or the time range"),
    ("response larger than the max", "the answer is larger than Loki allows; ask for less"),
    ("trying to send message larger", "the answer is larger than Loki allows; ask for less"),
)
"""Lower-case words by which Loki refuses a query as too large -> what we say."""
_LATE = ("context deadline exceeded", "request timed out", "timeout")
_INVALID = (
    ("exceeded maximum resolution", "expression: too many points; use a longer step_seconds"),
    ("end timestamp must not be before", "time_range: Loki takes its end for one before its start"),
    ("less label matchers than required", "expression: Loki requires more matchers in the selector"),
    ("missing required matchers", "expression: Loki requires certain labels in the selector"),
    ("empty-compatible", "expression: the selector needs a matcher that does not match everything"),
    ("pipeline error", 'expression: a line cannot be parsed so; add | __error__="" after the parser'),
)


@dataclass(frozen=True, slots=True)
class Told:
    """A success: its data, the source's warnings, and whether they say that something is missing."""

    data: Json
    warnings: tuple[str, ...]
    partial: Failure | None


def read_object(answer: Answer, *, now: datetime) -> dict[str, Json] | Failure:
    """Read an answer that is a JSON object, or say why there is none. Bytes that are not UTF-8 become U+FFFD."""
    refused = _refusal(answer, now)
    if refused is not None:
        return refused
    told = read_json(replace(answer, body=_utf8(answer.body)))
    if isinstance(told, Failure):
        return told
    if not isinstance(told, dict):
        return failure(FailureCode.MALFORMED_RESULT, "the answer is not an object")
    return told


def read_envelope(answer: Answer, *, now: datetime) -> Told | Failure:
    """Read an answer in the envelope of the query endpoints."""
    told = read_object(answer, now=now)
    if isinstance(told, Failure):
        return told
    if told.get("status") != "success":
        return failure(FailureCode.SCHEMA_DRIFT, "the answer has no status")
    said = told.get("warnings")
    warnings = tuple(str(one) for one in said if isinstance(one, str)) if isinstance(said, list) else ()
    return Told(told.get("data"), warnings[:MAX_WARNINGS], _partial(len(warnings)))


def _refusal(answer: Answer, now: datetime) -> Failure | None:
    by_status = status_failure(answer, now=now)
    if by_status is None or by_status.code is FailureCode.RATE_LIMITED:
        return by_status
    said = answer.body[:_READ_OF_A_REFUSAL].decode("utf-8", "replace").lower()
    status, begin = answer.status, said[:_READ_OF_ITS_BEGIN]
    if status in {400, 401} and _NO_TENANT in begin and _PARSE_ERROR not in begin:
        return failure(FailureCode.CONTEXT_MISMATCH, "org_id: Loki wants a tenant")
    if status in {502, 504}:
        return failure(FailureCode.TIMEOUT, f"HTTP {status}: Loki did not answer its gateway in time")
    if status == 499:  # noqa: PLR2004  # "client closed request", as nginx and Loki say it
        return failure(FailureCode.CANCELLED, "HTTP 499")
    return _of_the_query(status, said) or by_status


def _of_the_query(status: int, said: str) -> Failure | None:
    """Say what Loki says of the query. A parse error first: it repeats the query, which may hold any words."""
    if status not in _REFUSES_QUERY:
        return None
    if _PARSE_ERROR in said[:_READ_OF_ITS_BEGIN]:
        return failure(FailureCode.INVALID_QUERY, "expression: Loki cannot parse it")
    if (hint := _hint(_TOO_MUCH, said)) is not None:
        return failure(FailureCode.BUDGET_EXHAUSTED, hint)
    if (hint := _hint(_INVALID, said)) is not None:
        return failure(FailureCode.INVALID_QUERY, hint)
    if status == 500 and any(words in said for words in _LATE):  # noqa: PLR2004  # a querier's own deadline
        return failure(FailureCode.TIMEOUT, "Loki gave up")
    return None


def _hint(table: tuple[tuple[str, str], ...], said: str) -> str | None:
    return next((hint for words, hint in table if words in said), None)


def _partial(warnings: int) -> Failure | None:
    if not warnings:
        return None
    return failure(
        FailureCode.PROVIDER_ERROR, f"the source warns that its answer may not be whole ({warnings} warnings)"
    )


def _utf8(body: bytes) -> bytes:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").encode()
    return body
