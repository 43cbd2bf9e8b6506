"""The calls of a turn: what is done with each, and what answered it, in planned order."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from inquest.domain.failure import FailureCode
from inquest.domain.observation import Query
from inquest.domain.value import Digest, Json, Value


class Dispatch(Value):
    """This call is a fresh query under `key`."""

    plan: Literal["dispatch"] = "dispatch"
    key: str
    fingerprint: Digest
    query: Query


class ReplayOf(Value):
    """This call is the same as the one under `key`, whose receipt answers it."""

    plan: Literal["replay"] = "replay"
    key: str


class Refuse(Value):
    """This call was refused before dispatch. `hint` is ours and says what to do."""

    plan: Literal["refuse"] = "refuse"
    code: FailureCode
    hint: str


class Internal(Value):
    """This call is answered by ourselves from the state, without an effect."""

    plan: Literal["internal"] = "internal"
    tool: str
    arguments: dict[str, Json]


CallPlan = Annotated[Dispatch | ReplayOf | Refuse | Internal, Field(discriminator="plan")]


class PlannedCall(Value):
    """A call of a turn in asked order: 1-based `ordinal`, the provider's id, and what we do with it."""

    ordinal: int
    call_id: str
    name: str
    plan: CallPlan


class ByReceipt(Value):
    """The answer is the receipt under `key` (a try key where the first taking was abandoned)."""

    via: Literal["receipt"] = "receipt"
    key: str


class ByReplay(Value):
    """The answer is the receipt of an earlier, identical call."""

    via: Literal["replay"] = "replay"
    key: str


class ByRefusal(Value):
    """The answer is a refusal."""

    via: Literal["refusal"] = "refusal"
    code: FailureCode
    hint: str = ""


class ByInternal(Value):
    """The answer is our own; `result` names its bytes in the content store."""

    via: Literal["internal"] = "internal"
    result: Digest


class ByInterrupt(Value):
    """The answer is a human's, to come."""

    via: Literal["interrupt"] = "interrupt"
    interrupt_id: str


Joined = Annotated[ByReceipt | ByReplay | ByRefusal | ByInternal | ByInterrupt, Field(discriminator="via")]
