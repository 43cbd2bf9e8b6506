"""A model's reply made fit to be stored: sanitised, and every part of it bounded."""

from __future__ import annotations

from collections.abc import Callable

from inquest.domain.budget import MAX_ARGUMENT_BYTES, MAX_REPLY_BYTES
from inquest.domain.transcript import Reply, ToolCall
from inquest.wire.sanitise import clean

MAX_ID_CHARS = 200
CUT_NOTE = "\n[cut: the reply was larger than allowed]"


def as_it_is(text: str) -> str:
    """Mask nothing: for a host without configured secrets."""
    return text


def bounded_reply(reply: Reply, mask: Callable[[str], str]) -> Reply:
    """Give `reply` as it is stored: at most MAX_REPLY_BYTES of words and MAX_REPLY_BYTES of calls.

    Every text is sanitised, and `mask` takes the secrets out.

    Arguments over their cap stay over it by one byte, so that planning refuses them. Calls past the cap of
    all are left out from the end: what was asked first is answered.
    """

    def scrub(text: str) -> str:
        return mask(clean(text).text)

    calls: list[ToolCall] = []
    left = MAX_REPLY_BYTES
    for call in reply.tool_calls:
        kept = ToolCall(
            call_id=scrub(call.call_id[:MAX_ID_CHARS]),
            name=scrub(call.name[:MAX_ID_CHARS]),
            arguments=_cut(scrub(call.arguments[:MAX_REPLY_BYTES]), MAX_ARGUMENT_BYTES + 1),
        )
        left -= len(kept.canonical())
        if left < 0:
            break
        calls.append(kept)
    return reply.but(
        content=_noted(scrub(reply.content[:MAX_REPLY_BYTES]), cut=len(reply.content) > MAX_REPLY_BYTES),
        tool_calls=tuple(calls),
        finish_reason=scrub(reply.finish_reason[:MAX_ID_CHARS]),
        model=scrub(reply.model[:MAX_ID_CHARS]),
        provider_request_id=scrub(reply.provider_request_id[:MAX_ID_CHARS]),
        provider_response_id=scrub(reply.provider_response_id[:MAX_ID_CHARS]),
    )


def _noted(text: str, *, cut: bool) -> str:
    kept = _cut(text, MAX_REPLY_BYTES)
    return kept + CUT_NOTE if cut or len(kept) < len(text) else kept


def _cut(text: str, most_bytes: int) -> str:
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= most_bytes else raw[:most_bytes].decode("utf-8", "ignore")
