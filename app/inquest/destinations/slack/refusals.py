"""What a refusal of Slack means: whether the message may have arrived, and whether trying again can help."""

from __future__ import annotations

import re

from slack_sdk.errors import SlackApiError

from inquest.domain.delivery import DeliveryFailed

TOO_LARGE = frozenset({"msg_blocks_too_long", "msg_too_long", "invalid_blocks", "invalid_blocks_format"})
"""Codes after which the same can be said in a short text."""
_BROKE = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
"""Slack says of the first two that some of the work may have been done."""
_BUSY = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_CODE = re.compile(r"^[a-z_]{1,64}\Z")
HTTP_REDIRECT, HTTP_TIMEOUT, HTTP_TOO_MANY, HTTP_SERVER_ERROR = 300, 408, 429, 500


class Refusal(DeliveryFailed):
    """A refusal with Slack's own code, "" where it gave none."""

    code: str = ""


def refused(error: SlackApiError) -> Refusal:
    """Read an error of slack-sdk: the HTTP status, Slack's code, and how long it asks to wait.

    An answer that is not Slack's own (a proxy's page, half a body) leaves open whether the message arrived,
    unless its status says that it was not taken.
    """
    status, code = _status(error), _code(error)
    if status == HTTP_TOO_MANY or code in _BUSY:
        return Refusal(reason="Slack asks to wait", retry=True, retry_after_ms=_retry_after_ms(error), code=code)
    broke = code in _BROKE or status == HTTP_TIMEOUT or status >= HTTP_SERVER_ERROR
    if broke or (not code and status < HTTP_REDIRECT):
        return Refusal(reason="Slack broke while it answered", retry=True, uncertain=True, code=code)
    said = f"Slack refuses it: {code}" if code else f"Slack refuses it with HTTP {status}"
    return Refusal(reason=said, retry=False, code=code)


def _status(error: SlackApiError) -> int:
    """Give the HTTP status: slack-sdk hands on its own answer, or ours where the body is no JSON."""
    response = error.response
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    return status if isinstance(status, int) else 0


def _code(error: SlackApiError) -> str:
    data = getattr(error.response, "data", None)
    code = data.get("error") if isinstance(data, dict) else None
    return code if isinstance(code, str) and _CODE.match(code) else ""


def _retry_after_ms(error: SlackApiError) -> int | None:
    headers = getattr(error.response, "headers", None) or {}
    said = str(headers.get("Retry-After", ""))
    return int(said) * 1_000 if said.isascii() and said.isdecimal() and len(said) < 8 else None  # noqa: PLR2004
