"""Tools: the operations that a model may be offered, described without credentials."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inquest.domain.observation import Signal
from inquest.domain.value import Json, Value

RESERVED_TOOLS = ("search_tools", "read_evidence", "judge")
"""Internal tools that keep their slots whatever is selected: the three cheap knowledge tools of design 9."""


class ToolSpec(Value):
    """What a model sees of a tool, and what selection weighs.

    `parameters` is a JSON Schema (draft 2020-12, an object, additionalProperties false) of the arguments.
    Window, budget and cursor are not in it unless the tool offers them as `start`, `end`, `limit`, `cursor`.
    `cost` is relative: 1 an index look-up, 10 a scan. No field ever holds a credential or a host name.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{1,63}$")
    description: str
    parameters: dict[str, Json]
    source: str
    signal: Signal
    kind: Literal["evidence", "internal"] = "evidence"
    cost: int = Field(default=3, ge=1, le=10)
    step_ms: int = Field(default=15_000, ge=1)
    """The grid to which a model's times are snapped before two calls are compared."""
