"""A ModelRequest in the chat-completions format that litellm takes, and an answer read back: pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, assert_never

from inquest.domain.budget import MAX_REPLY_BYTES
from inquest.domain.transcript import (
    AssistantTurn,
    Message,
    ModelRequest,
    Reply,
    SystemText,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from inquest.models.failures import model_error
from inquest.ports import ModelFailure

PLACEHOLDER = "[System: Empty message content sanitised to satisfy protocol]"
"""What litellm puts where a message was empty: an empty answer, never text to publish."""
MAX_TOKENS_OF_A_REPLY = 1_000_000_000
"""A hundred times any model's window. A number above it is none that JSON, a total or a price can carry."""
CUT_NOTE = "\n[cut by Inquest: the answer was larger than allowed]"


def flattened(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Tell calls and their results as text, for a request without tools.

    Some providers refuse a history with calls when no schema comes along, and litellm then adds a tool of its
    own. As text the model still sees what was asked and answered, and has nothing to call.
    """
    told: list[Message] = []
    for message in messages:
        match message:
            case AssistantTurn(text=text, tool_calls=calls) if calls:
                lines = [text, *(f"(asked {call.name} {call.arguments})" for call in calls)]
                told.append(AssistantTurn(text="\n".join(line for line in lines if line)))
            case ToolResult(name=name, text=text):
                told.append(UserText(text=f"(answer of {name})\n{text}"))
            case _:
                told.append(message)
    return tuple(told)


def to_messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Write the conversation. One result per call id; arguments in history are always valid JSON."""
    written: list[dict[str, Any]] = []
    answered: set[str] = set()
    for message in messages:
        match message:
            case SystemText(text=text):
                written.append({"role": "system", "content": text})
            case UserText(text=text):
                written.append({"role": "user", "content": text})
            case AssistantTurn():
                written.append(_assistant(message))
            case ToolResult(call_id=call_id, text=text):
                if call_id not in answered:
                    written.append({"role": "tool", "tool_call_id": call_id, "content": text})
                answered.add(call_id)
            case unknown:
                assert_never(unknown)
    return written


def _assistant(turn: AssistantTurn) -> dict[str, Any]:
    calls = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name or "unnamed", "arguments": valid_arguments(call.arguments)},
        }
        for call in turn.tool_calls
    ]
    if not calls:
        return {"role": "assistant", "content": turn.text or "(no text)"}
    return {"role": "assistant", "content": turn.text or None, "tool_calls": calls}


def valid_arguments(arguments: str) -> str:
    """Give `arguments` when they are a JSON object, else "{}": strict providers refuse anything else."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def to_parameters(request: ModelRequest, *, schema_supported: bool) -> dict[str, Any]:
    """Write everything but models, keys and timeouts.

    Where tools are withdrawn but described, tool_choice is "none"; without any, calls in the history are told
    as text. Temperature is never sent: some models take only one.
    """
    written: dict[str, Any] = {
        "messages": to_messages(request.messages if request.tools else flattened(request.messages)),
        "max_tokens": request.max_output_tokens,
        "stream": False,
    }
    if request.tools:
        written["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
        written["tool_choice"] = request.tool_choice
    if request.response_schema is not None and schema_supported:
        written["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": request.purpose, "schema": request.response_schema, "strict": True},
        }
    return written


def read_reply(answer: Mapping[str, Any], *, model: str) -> Reply:
    """Read an answer. Raises ModelError(malformed) when there is no choice in it."""
    choices = answer.get("choices") or []
    message = (choices[0] or {}).get("message") if choices else None
    if not isinstance(message, Mapping):
        raise model_error(ModelFailure.MALFORMED)
    return Reply(
        content=_content(message.get("content")),
        tool_calls=_unique(tuple(_call(call, n) for n, call in enumerate(message.get("tool_calls") or [], start=1))),
        finish_reason=str(choices[0].get("finish_reason") or ""),
        model=str(answer.get("model") or model),
        usage=_usage(answer.get("usage")),
        provider_request_id=str(answer.get("request_id") or ""),
        provider_response_id=str(answer.get("id") or ""),
    )


def _content(content: object) -> str:
    """Give the text of a content that is a string, a list of parts, or nothing."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    text = content if isinstance(content, str) else ""
    if text.strip() == PLACEHOLDER:
        return ""
    raw = text.encode("utf-8", errors="replace")
    if len(raw) <= MAX_REPLY_BYTES:
        return raw.decode("utf-8")
    return raw[:MAX_REPLY_BYTES].decode("utf-8", errors="ignore") + CUT_NOTE


def _call(call: Mapping[str, Any], ordinal: int) -> ToolCall:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if isinstance(arguments, Mapping):
        arguments = json.dumps(arguments)
    return ToolCall(
        call_id=str(call.get("id") or f"call-{ordinal}"),
        name=str(function.get("name") or ""),
        arguments=arguments if isinstance(arguments, str) else "",
    )


def _unique(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Give every call an id of its own: providers repeat them, and each needs exactly one result."""
    seen: set[str] = set()
    fixed: list[ToolCall] = []
    for ordinal, call in enumerate(calls, start=1):
        call_id = call.call_id if call.call_id not in seen else f"{call.call_id}-{ordinal}"
        seen.add(call_id)
        fixed.append(call.but(call_id=call_id))
    return tuple(fixed)


def _usage(usage: object) -> Usage:
    """Read the counts; absent, not whole, both zero or past belief means that the provider did not count: unknown."""
    if not isinstance(usage, Mapping):
        return Usage()
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    known = [count if isinstance(count, int) and 0 <= count <= MAX_TOKENS_OF_A_REPLY else None for count in counts]
    return Usage(input_tokens=known[0] or None, output_tokens=known[1] or None)
