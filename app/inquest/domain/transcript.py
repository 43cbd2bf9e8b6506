"""The conversation with an investigator, in no provider's format."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json, Value


class ToolCall(Value):
    """One call as it was asked for. `arguments` is the raw text: it may be no JSON at all."""

    call_id: str
    name: str
    arguments: str


class Usage(Value):
    """Tokens as the provider counted them; None where it did not say (never 0 for unknown)."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Reply(Value):
    """What came back from one turn, whoever answered. `content` "" is an empty answer."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    model: str = ""
    usage: Usage = Usage()
    cost_usd_micros: int | None = None
    provider_request_id: str = ""
    provider_response_id: str = ""


class SystemText(Value):
    """Our own instructions."""

    role: Literal["system"] = "system"
    text: str


class UserText(Value):
    """What is put to the model; foreign text only inside the boundary."""

    role: Literal["user"] = "user"
    text: str


class AssistantTurn(Value):
    """An earlier reply. Unparsable arguments are shown as "{}": strict providers refuse them in history."""

    role: Literal["assistant"] = "assistant"
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class ToolResult(Value):
    """The answer to one call; exactly one for each, in asked order."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    text: str


Message = Annotated[SystemText | UserText | AssistantTurn | ToolResult, Field(discriminator="role")]


class ModelRequest(Value):
    """One request to a model: what its effect's fingerprint covers.

    `models` is the ordered list to try; all tries are one effect. With `tool_choice` "none" no call may
    come back, and one that does is refused. `response_schema` is a closed JSON schema.
    """

    purpose: Literal["turn", "extract", "diagnose", "repair"]
    models: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    max_output_tokens: int = 4_096
    response_schema: dict[str, Json] | None = None
