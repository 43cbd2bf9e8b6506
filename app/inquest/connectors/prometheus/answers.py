"""The envelope of Prometheus' HTTP API (v1), also as VictoriaMetrics, Thanos and Mimir speak it.

`{"status": "success", "data": ..., "warnings": [...], "infos": [...]}`, or
`{"status": "error", "errorType": "bad_data", "error": "..."}`. The words of the source choose a hint of ours
and go no further.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.value import Json
from inquest.wire.answer import Answer, read_json, retry_after_ms, status_failure

MAX_WARNINGS = 10

_BY_TYPE = {
    "bad_data": FailureCode.INVALID_QUERY,
    "execution": FailureCode.INVALID_QUERY,
    "422": FailureCode.INVALID_QUERY,  # VictoriaMetrics gives the status as the type
    "timeout": FailureCode.TIMEOUT,
    "canceled": FailureCode.CANCELLED,
    "not_found": FailureCode.SCHEMA_DRIFT,
    "unavailable": FailureCode.PROVIDER_ERROR,
    "internal": FailureCode.PROVIDER_ERROR,
    "too_many_requests": FailureCode.RATE_LIMITED,
    "429": FailureCode.RATE_LIMITED,
}

_TOO_MUCH = (
    "would load too many samples",
    "exceeds the limit",
    "maxuniquetimeseries",
    "maxsamplesperquery",
    "maxmemoryperquery",
    "cannot select more than",
    "limit exceeded",
    "exceeded series limit",
    "exceeded chunks limit",
)
"""Lower-case words by which Prometheus, Thanos, Mimir and VictoriaMetrics refuse a query as too large."""

_HINTS = (
    ("exceeded maximum resolution", "expression: too many points; use a longer step_seconds"),
    ("too many points for the given step", "expression: too many points; use a longer step_seconds"),
    (
        "many-to-many matching not allowed",
        "expression: match labels are not unique on one side; aggregate or use group_left",
    ),
    ("multiple matches for labels", "expression: match labels are not unique on one side; aggregate or use group_left"),
    ("duplicate timestamp", "expression: it gives the same labels twice; keep a label that tells the series apart"),
    ("same labelset", "expression: it gives the same labels twice; keep a label that tells the series apart"),
    ("unknown function", "expression: the source does not know a function in it"),
    ("parse error", "expression: the source cannot parse it"),
    ("no match[] parameter", "selector: is needed"),
    ("invalid label name", "label: not a name that the source takes"),
)
"""What a source says of a query -> what we say of it."""


@dataclass(frozen=True, slots=True)
class Told:
    """A success: its data, the source's warnings, and whether they say that something is missing."""

    data: Json
    warnings: tuple[str, ...]
    partial: Failure | None


def read_envelope(answer: Answer, *, now: datetime) -> Told | Failure:
    """Read an answer, or say why there is none."""
    told = read_json(answer)
    by_status = status_failure(answer, now=now)
    if isinstance(told, Failure):
        # An error page of a proxy: what its status says is truer than that it is no JSON.
        return _no_tenant(answer) or by_status or told
    if isinstance(told, dict) and told.get("status") == "error":
        return _no_tenant(answer) or _error(told, answer, by_status, now)
    if by_status is not None:
        return _no_tenant(answer) or by_status
    if not isinstance(told, dict):
        return failure(FailureCode.MALFORMED_RESULT, "the answer is not an object")
    if told.get("status") != "success" or "data" not in told:
        return failure(FailureCode.SCHEMA_DRIFT, "the answer has no status and data")
    warnings = (*_texts(told.get("warnings")), *_texts(told.get("infos")))
    return Told(told["data"], warnings[:MAX_WARNINGS], _partial(warnings))


def _error(told: dict[str, Json], answer: Answer, by_status: Failure | None, now: datetime) -> Failure:
    said = str(told.get("error", "")).lower()
    kind = str(told.get("errorType", ""))
    code = _BY_TYPE.get(kind)
    if code in {FailureCode.INVALID_QUERY, None} and any(words in said for words in _TOO_MUCH):
        return failure(FailureCode.BUDGET_EXHAUSTED, "the source refuses the query as too large; narrow it")
    if code is None:
        return by_status or failure(FailureCode.PROVIDER_ERROR, "the source reports an error of an unknown type")
    if code is FailureCode.RATE_LIMITED:
        return failure(code, "the source limits us", retry_after_ms=retry_after_ms(answer.headers, now=now))
    if code is FailureCode.INVALID_QUERY:
        return failure(
            code, next((hint for words, hint in _HINTS if words in said), "expression: the source refuses it")
        )
    return failure(code, f"errorType {kind}")


def _no_tenant(answer: Answer) -> Failure | None:
    """Mimir, Cortex and Thanos refuse a request without a tenant header so, with a 401 or a 400."""
    if answer.status in {400, 401} and b"no org id" in answer.body[:1_000]:
        return failure(FailureCode.CONTEXT_MISMATCH, "tenant: the source wants a tenant header")
    return None


def _partial(warnings: tuple[str, ...]) -> Failure | None:
    """Give the failure of a partial answer.

    A note about the query itself ("PromQL info: ...") misses nothing; every other warning may.
    """
    serious = [one for one in warnings if not one.startswith("PromQL info:")]
    if not serious:
        return None
    return failure(
        FailureCode.PROVIDER_ERROR, f"the source warns that its answer may not be whole ({len(serious)} warnings)"
    )


def _texts(found: Json) -> tuple[str, ...]:
    return tuple(str(one) for one in found if isinstance(one, str)) if isinstance(found, list) else ()
