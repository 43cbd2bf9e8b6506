"""The journal: closed event kinds, their bodies, and the hash chain over them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from inquest.domain.budget import Limits, Spend
from inquest.domain.canonical import digest_of
from inquest.domain.episode import Episode, Member
from inquest.domain.investigation import (
    Delivered,
    Diagnosed,
    EvidenceGathered,
    FactsExtracted,
    Identity,
    IntegrationsResolved,
    Origin,
    Plan,
    StopReason,
)
from inquest.domain.planned import Joined, PlannedCall
from inquest.domain.report import Signature
from inquest.domain.value import Digest, Instant, Labels, Value

EVENT_SCHEMA_VERSION = 2
MAX_BATCH_BYTES = 1_048_576
GENESIS = "sha256:" + "0" * 64


class RunStarted(Value):
    """seq 1: the identity, the episode as read, and what stays fixed: models, prompts by digest, limits."""

    kind: Literal["run_started"] = "run_started"
    identity: Identity
    origin: Origin
    episode: Episode
    models: tuple[str, ...]
    prompts: dict[str, Digest]
    limits: Limits
    started_at: Instant
    deadline_at: Instant
    release: str


class PlanCommitted(Value):
    """Stage 3's section; its transaction reserves the seed batch."""

    kind: Literal["plan_committed"] = "plan_committed"
    plan: Plan


class StageCommitted(Value):
    """The section of any other stage."""

    kind: Literal["stage_committed"] = "stage_committed"
    update: Annotated[
        IntegrationsResolved | FactsExtracted | EvidenceGathered | Diagnosed | Delivered,
        Field(discriminator="stage"),
    ]


class EpisodeChanged(Value):
    """Members joined, stopped or fired again between turns; `window_end` moves the incident window forward."""

    kind: Literal["episode_changed"] = "episode_changed"
    joined: tuple[Member, ...] = ()
    resolved: tuple[str, ...] = ()
    fired_again: tuple[str, ...] = ()
    window_end: Instant
    episode_version: int = 0
    """Of the episode, as of this look: what the next one asks from. 0 where it is not known."""
    unlisted_members: int = 0
    """Joined members that are only counted."""
    unlisted_resolved: int = 0
    unlisted_fired_again: int = 0


class TurnCommitted(Value):
    """Turn `turn`'s reply is stored, its calls are planned and reserved.

    `reply` names the bytes of a `transcript.Reply`, or of an `effect.ModelFailed`, which has no calls.
    """

    kind: Literal["turn_committed"] = "turn_committed"
    turn: int
    key: str
    request_digest: Digest
    reply: Digest
    calls: tuple[PlannedCall, ...]
    offered: tuple[str, ...]
    request_tokens: int = 0
    """Our own count of the request: the upper estimate where the provider gives no usage."""
    unlisted_calls: int = 0
    """Calls past MAX_LISTED_CALLS, which are not in `calls` and were not answered."""
    provider_request_id: str = ""
    provider_response_id: str = ""


class BatchJoined(Value):
    """Every planned call of `batch` ("seed" or "turn/7") has its answer, in planned order."""

    kind: Literal["batch_joined"] = "batch_joined"
    batch: str
    results: tuple[Joined, ...]


class Nudge(Value):
    """The next request carries a nudge."""

    steer: Literal["nudge"] = "nudge"
    turn: int
    why: Literal["stagnant", "unjudged", "signals", "empty_reply", "tools_expected"]
    text: str


class ToolsWithdrawn(Value):
    """The next turn is the last and gets no tools."""

    steer: Literal["tools_withdrawn"] = "tools_withdrawn"
    turn: int
    why: StopReason


class SelectionChanged(Value):
    """The tools on offer from now on."""

    steer: Literal["selection_changed"] = "selection_changed"
    turn: int
    offered: tuple[str, ...]
    why: str


class Evicted(Value):
    """These exchanges are shown as one line each from now on, by evidence or call key."""

    steer: Literal["evicted"] = "evicted"
    turn: int
    keys: tuple[str, ...]


class CeilingReached(Value):
    """A ceiling was met."""

    steer: Literal["ceiling_reached"] = "ceiling_reached"
    turn: int
    ceiling: StopReason
    used: float
    allowed: float


Steering = Annotated[Nudge | ToolsWithdrawn | SelectionChanged | Evicted | CeilingReached, Field(discriminator="steer")]


class LoopSteered(Value):
    """A decision of the loop that changes what the investigator sees next."""

    kind: Literal["loop_steered"] = "loop_steered"
    steering: Steering


class InterruptRaised(Value):
    """A human is asked. `call_key` is where it goes on: the call of a turn, or the stage whose rule asked."""

    kind: Literal["interrupt_raised"] = "interrupt_raised"
    interrupt_id: str
    prompt: str
    call_key: str
    remaining_s: float


class InterruptAnswered(Value):
    """The answer, untrusted, and the new deadline."""

    kind: Literal["interrupt_answered"] = "interrupt_answered"
    interrupt_id: str
    answer: str
    actor: str
    extended_until: Instant


class InterruptExpired(Value):
    """Nobody answered in seven days."""

    kind: Literal["interrupt_expired"] = "interrupt_expired"
    interrupt_id: str
    extended_until: Instant


class GenerationAdvanced(Value):
    """A claim took over, or a write from no owner moved the fence on."""

    kind: Literal["generation_advanced"] = "generation_advanced"
    owner_id: str
    generation: int
    attempt: int
    why: str


class RunSucceeded(Value):
    """Terminal: a verdict was reached, "inconclusive" and "noise" among them."""

    kind: Literal["run_succeeded"] = "run_succeeded"
    stop_reason: StopReason
    projection_digest: Digest
    signature: Signature | None
    spend: Spend


class RunFailed(Value):
    """Terminal: the attempts are used up. `reason` is ours."""

    kind: Literal["run_failed"] = "run_failed"
    reason: str
    projection_digest: Digest
    signature: Signature | None
    spend: Spend


class RunCancelled(Value):
    """Terminal: somebody, or an expiry, said so."""

    kind: Literal["run_cancelled"] = "run_cancelled"
    reason: str
    actor: str
    detail: Labels = Field(default_factory=dict)


EventBody = Annotated[
    RunStarted | PlanCommitted | StageCommitted | EpisodeChanged | TurnCommitted | BatchJoined | LoopSteered
    | InterruptRaised | InterruptAnswered | InterruptExpired | GenerationAdvanced
    | RunSucceeded | RunFailed | RunCancelled,
    Field(discriminator="kind"),
]  # fmt: skip
event_body: TypeAdapter[EventBody] = TypeAdapter(EventBody)

TERMINAL_KINDS = frozenset({"run_succeeded", "run_failed", "run_cancelled"})


class Event(Value):
    """One entry of a journal, as stored. `body_digest` covers `prev_digest` and the body's bytes."""

    seq: int = Field(ge=1)
    batch_id: str
    generation: int
    attempt: int
    schema_version: int
    body: EventBody
    body_digest: Digest
    prev_digest: Digest
    committed_at: Instant


def chain_digest(prev_digest: str, body: bytes) -> str:
    """Give the digest of an event whose canonical body is `body`, chained to its predecessor's."""
    return digest_of(prev_digest.encode("ascii") + b"\n" + body)
