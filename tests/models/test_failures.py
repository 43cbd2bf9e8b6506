"""What a provider's failure means: the known disguises of litellm's exceptions."""

from __future__ import annotations

import pytest

from inquest.models.failures import MESSAGES, classify, parse_retry_after
from inquest.ports import ModelFailure


@pytest.mark.parametrize(
    ("status", "type_name", "text", "kind"),
    [
        (401, "AuthenticationError", "bad key", ModelFailure.AUTHENTICATION),
        (403, "APIError", "forbidden", ModelFailure.AUTHENTICATION),
        (404, "NotFoundError", "no such model", ModelFailure.BAD_REQUEST),
        (400, "ContextWindowExceededError", "", ModelFailure.CONTEXT_OVERFLOW),
        (400, "BadRequestError", "prompt is too long: 210000 tokens > 200000 maximum", ModelFailure.CONTEXT_OVERFLOW),
        (413, "APIError", "Payload Too Large", ModelFailure.CONTEXT_OVERFLOW),
        (429, "RateLimitError", "Request too large for gpt on tokens per min", ModelFailure.CONTEXT_OVERFLOW),
        (429, "RateLimitError", "You exceeded your current quota, check billing", ModelFailure.QUOTA),
        (429, "RateLimitError", "slow down", ModelFailure.RATE_LIMITED),
        (400, "BadRequestError", "blocked by content filter", ModelFailure.REFUSED),
        (422, "BadRequestError", "unknown field", ModelFailure.BAD_REQUEST),
        (500, "InternalServerError", "oops", ModelFailure.UNAVAILABLE),
        (500, "InternalServerError", "Overloaded", ModelFailure.OVERLOADED),
        (529, "APIError", "", ModelFailure.OVERLOADED),
        (503, "ServiceUnavailableError", "", ModelFailure.OVERLOADED),
        (502, "BadGatewayError", "<html>", ModelFailure.UNAVAILABLE),
        (408, "Timeout", "", ModelFailure.TIMEOUT),
        (None, "APIConnectionError", "Traceback (most recent call last): KeyError", ModelFailure.MALFORMED),
        (None, "APIConnectionError", "connection refused", ModelFailure.UNAVAILABLE),
        (400, "UnsupportedParamsError", "temperature", ModelFailure.BAD_REQUEST),
        (None, "ZeroDivisionError", "", ModelFailure.UNAVAILABLE),
    ],
)
def test_a_failure_is_what_its_provider_meant(
    status: int | None, type_name: str, text: str, kind: ModelFailure
) -> None:
    assert classify(status=status, type_name=type_name, text=text) is kind


def test_every_kind_has_a_message_of_ours() -> None:
    assert set(MESSAGES) == set(ModelFailure)


@pytest.mark.parametrize(
    ("value", "ms"),
    [("3", 3000), ("0.5", 500), (None, None), ("", None), ("-1", None), ("nan", None), ("1e9", None), ("soon", None)],
)
def test_retry_after_is_seconds_or_nothing(value: str | None, ms: int | None) -> None:
    assert parse_retry_after(value) == ms
