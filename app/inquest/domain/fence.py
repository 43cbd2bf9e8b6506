"""The right to act on an investigation."""

from __future__ import annotations

from pydantic import Field

from inquest.domain.value import Value


class Fence(Value):
    """Owner + generation + attempt of a claim.

    `owner_id` is unique per process boot. Every claim increments `generation`; `attempt` moves only when
    the previous owner failed without getting anywhere (design 10).
    """

    investigation_id: str
    owner_id: str
    generation: int = Field(ge=1)
    attempt: int = Field(ge=1)
