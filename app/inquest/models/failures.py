"""What a provider's failure means, decided from status code, type and a few anchored words: pure.

litellm's own classes mislead in known ways (docs/explanation/tool-calling.md): a request that is too large
arrives as 429, a used-up quota too, an overloaded Anthropic as 500, an answer of the wrong shape as a
connection error. The provider's text decides here and goes no further.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from inquest.errors import ModelError
from inquest.ports import ModelFailure

MESSAGES: dict[ModelFailure, str] = {
    ModelFailure.RATE_LIMITED: "the model's provider asks us to slow down",
    ModelFailure.OVERLOADED: "the model's provider is overloaded",
    ModelFailure.TIMEOUT: "the model did not answer in its time",
    ModelFailure.UNAVAILABLE: "the model's provider cannot be reached or failed",
    ModelFailure.CONTEXT_OVERFLOW: "the request is larger than the model's window",
    ModelFailure.AUTHENTICATION: "the model's provider does not accept the configured key",
    ModelFailure.QUOTA: "the account at the model's provider is used up",
    ModelFailure.REFUSED: "the model's provider refused the content of the request",
    ModelFailure.MALFORMED: "the model's provider sent an answer that cannot be read",
    ModelFailure.BAD_REQUEST: "the model's provider does not take this request",
}

MAX_LOOKED_AT_CHARS = 4_000
_OVERFLOW = re.compile(
    r"context.?length|context.?window|maximum context|too many tokens|request too large|prompt is too long|"
    r"input is too long|reduce the length|exceeds? the (?:max|limit|model)|tokens? limit",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|credit balance|payment required", re.IGNORECASE
)
_FILTER = re.compile(r"content.?filter|content.?policy|content management policy|safety system", re.IGNORECASE)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)")


@dataclass(frozen=True)
class _Said:
    """What is known of a failure: HTTP status, class name, and the beginning of its text."""

    status: int | None
    type_name: str
    text: str

    @property
    def is_client_error(self) -> bool:
        return self.status in {400, 422, 429} or self.type_name in {"RateLimitError", "BadRequestError"}


_RULES: tuple[tuple[Callable[[_Said], object], ModelFailure], ...] = (
    (lambda it: it.type_name == "ContextWindowExceededError" or it.status == 413, ModelFailure.CONTEXT_OVERFLOW),  # noqa: PLR2004
    (lambda it: it.type_name in {"Timeout", "TimeoutError"} or it.status in {408, 504}, ModelFailure.TIMEOUT),
    (lambda it: it.is_client_error and _OVERFLOW.search(it.text), ModelFailure.CONTEXT_OVERFLOW),
    (lambda it: it.is_client_error and _QUOTA.search(it.text), ModelFailure.QUOTA),
    (lambda it: it.status == 402, ModelFailure.QUOTA),  # noqa: PLR2004  # Payment Required
    (lambda it: it.status == 429 or it.type_name == "RateLimitError", ModelFailure.RATE_LIMITED),  # noqa: PLR2004
    (lambda it: it.type_name == "ContentPolicyViolationError", ModelFailure.REFUSED),
    (lambda it: it.is_client_error and _FILTER.search(it.text), ModelFailure.REFUSED),
    (lambda it: it.type_name == "APIConnectionError" and _TRACEBACK.search(it.text), ModelFailure.MALFORMED),
    (lambda it: it.type_name in {"APIResponseValidationError", "JSONDecodeError"}, ModelFailure.MALFORMED),
    (lambda it: it.status in {401, 403} or it.type_name == "AuthenticationError", ModelFailure.AUTHENTICATION),
    (lambda it: it.status in {503, 529} or "overloaded" in it.text.lower(), ModelFailure.OVERLOADED),
    (lambda it: it.is_client_error or it.status == 404, ModelFailure.BAD_REQUEST),  # noqa: PLR2004  # Not Found
    (lambda it: it.type_name == "UnsupportedParamsError", ModelFailure.BAD_REQUEST),
)


def classify(*, status: int | None, type_name: str, text: str) -> ModelFailure:
    """Say what a litellm exception of class `type_name` means: the first rule that fits, else unavailable."""
    said = _Said(status=status, type_name=type_name, text=text[:MAX_LOOKED_AT_CHARS])
    return next((kind for fits, kind in _RULES if fits(said)), ModelFailure.UNAVAILABLE)


def model_error(kind: ModelFailure, *, retry_after_ms: int | None = None) -> ModelError:
    """Build the error of `kind` with its message from the table."""
    return ModelError(kind, MESSAGES[kind], retry_after_ms=retry_after_ms)


def parse_retry_after(value: str | None) -> int | None:
    """Read a Retry-After in seconds as milliseconds; a date or nonsense gives None: our own backoff holds."""
    try:
        seconds = float(value) if value else -1.0
    except ValueError:
        return None
    return int(seconds * 1000) if 0 <= seconds < 86_400 else None  # noqa: PLR2004  # a day: nobody waits longer
