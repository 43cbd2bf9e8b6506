"""Effects: acts outside, their reservations, and the receipts that make them happen once."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from inquest.domain.value import Digest, Value

KEY_PATTERN = r"^(seed/\d+|turn/\d+(/call/\d+)?|extract/\d+|diagnose/\d+)(/try/\d+)?$"


class EffectKind(StrEnum):
    """A model turn or a query; both are reads and may be repeated."""

    MODEL = "model"
    QUERY = "query"


class Reservation(Value):
    """The intent to act under `key`: a path of our own ordinals (seed/2, turn/7/call/3, diagnose/1).

    `fingerprint` is the digest of the canonical request with its context. The same key never means two
    requests. `timeout_ms` bounds the act; `most_usd_micros` is what it may cost at most, in millionths of a dollar.
    """

    key: str = Field(pattern=KEY_PATTERN)
    kind: EffectKind
    fingerprint: Digest
    tool_call_id: str = ""
    timeout_ms: int = Field(default=30_000, gt=0)
    most_usd_micros: int = Field(default=0, ge=0)


class Receipt(Value):
    """The durable record of what came back. `outcome_digest` names its canonical bytes in `content`.

    For a query the bytes are an `observation.Recorded`; for a model turn a `transcript.Reply`, or a
    `ModelFailed` when the attempts are used up.
    """

    key: str = Field(pattern=KEY_PATTERN)
    fingerprint: Digest
    outcome_digest: Digest
    provider_request_id: str = ""
    provider_response_id: str = ""


class EffectState(StrEnum):
    """reserved -> committed | abandoned."""

    RESERVED = "reserved"
    COMMITTED = "committed"
    ABANDONED = "abandoned"


class EffectRow(Value):
    """One row of `effect`, as replay and recovery read it.

    `dispatches` is 0 for one that was reserved and then cut by a drain: what is cut is not counted.
    """

    key: str
    kind: EffectKind
    fingerprint: Digest
    state: EffectState
    dispatches: int = Field(ge=0)
    generation: int
    attempt: int
    expected_version: int
    tool_call_id: str = ""
    outcome_digest: Digest | None = None
    provider_request_id: str = ""
    provider_response_id: str = ""


class ModelFailed(Value):
    """The outcome of a model turn whose bounded attempts all failed. `kind` as in ModelError."""

    failed: Literal[True] = True
    kind: str
    message: str


def seed_key(ordinal: int) -> str:
    """Name the seed call at 1-based `ordinal`."""
    return f"seed/{ordinal}"


def turn_key(turn: int) -> str:
    """Name the model turn `turn`, 1-based."""
    return f"turn/{turn}"


def call_key(turn: int, ordinal: int) -> str:
    """Name the call at 1-based `ordinal` of turn `turn`."""
    return f"turn/{turn}/call/{ordinal}"


def try_key(key: str, attempt: int) -> str:
    """Name the `attempt`-th taking (2, 3 ..) of `key` after the earlier one was abandoned."""
    return f"{key.split('/try/', maxsplit=1)[0]}/try/{attempt}"
