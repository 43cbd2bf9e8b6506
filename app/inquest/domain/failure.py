"""The closed set of ten failure codes and their messages. Provider text never enters one."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from inquest.domain.value import Value

MAX_RETRY_AFTER_MS = 3_600_000
"""A provider that asks for longer than an hour is recorded as asking for an hour."""


class FailureCode(StrEnum):
    """Why a query has no answer, or only a part of one (design 7)."""

    INVALID_QUERY = "invalid_query"
    CONTEXT_MISMATCH = "context_mismatch"
    SCHEMA_DRIFT = "schema_drift"
    CAPABILITY_DENIED = "capability_denied"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    MALFORMED_RESULT = "malformed_result"
    BUDGET_EXHAUSTED = "budget_exhausted"
    PROVIDER_ERROR = "provider_error"


MESSAGES: dict[FailureCode, str] = {
    FailureCode.INVALID_QUERY: "the query cannot be run as it stands",
    FailureCode.CONTEXT_MISMATCH: "the source belongs to another context than the one configured",
    FailureCode.SCHEMA_DRIFT: "the answer lacks the shape that this source is documented to have",
    FailureCode.CAPABILITY_DENIED: "the configured credentials do not allow this read",
    FailureCode.CANCELLED: "the read was cancelled",
    FailureCode.TIMEOUT: "the read did not finish in its time",
    FailureCode.RATE_LIMITED: "the source asks us to slow down",
    FailureCode.MALFORMED_RESULT: "the answer cannot be read",
    FailureCode.BUDGET_EXHAUSTED: "the answer is larger than the budget of the query",
    FailureCode.PROVIDER_ERROR: "the source failed",
}


class Failure(Value):
    """A failure as a value.

    `message` is from MESSAGES; `hint` is ours too (never the provider's words) and names the field or
    limit, for example "expression: expected ')' at 14".
    """

    code: FailureCode
    message: str
    hint: str = ""
    retry_after_ms: int | None = Field(default=None, ge=0, le=MAX_RETRY_AFTER_MS)

    @model_validator(mode="after")
    def _only_rate_limited_waits(self) -> Self:
        if self.retry_after_ms is not None and self.code is not FailureCode.RATE_LIMITED:
            msg = "only rate_limited carries retry_after_ms"
            raise ValueError(msg)
        if self.message != MESSAGES[self.code]:
            msg = "a failure's message is the one of the table"
            raise ValueError(msg)
        return self


def failure(code: FailureCode, hint: str = "", *, retry_after_ms: int | None = None) -> Failure:
    """Build the failure of `code` with its message from the table."""
    capped = None if retry_after_ms is None else max(0, min(retry_after_ms, MAX_RETRY_AFTER_MS))
    return Failure(code=code, message=MESSAGES[code], hint=hint, retry_after_ms=capped)
