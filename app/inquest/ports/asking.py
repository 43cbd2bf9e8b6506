"""Models, and the investigators that decide the next turn."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, Protocol

from pydantic import SkipValidation

from inquest.domain.budget import Spend
from inquest.domain.evidence import Asked, EvidenceItem, Excluded
from inquest.domain.hypothesis import Ledger
from inquest.domain.investigation import Investigation
from inquest.domain.signals import SignalContent
from inquest.domain.tool import ToolSpec
from inquest.domain.transcript import Message, ModelRequest, Reply
from inquest.domain.value import Value


class ModelFailure(StrEnum):
    """Kinds of `errors.ModelError`: what may be done about it differs."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    CONTEXT_OVERFLOW = "context_overflow"
    AUTHENTICATION = "authentication"
    QUOTA = "quota"
    REFUSED = "refused"
    MALFORMED = "malformed"
    BAD_REQUEST = "bad_request"


class Model(Protocol):
    """A language model provider."""

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> Reply:
        """Ask once, over the ordered models of `request`. Raises ModelError; CancelledError passes."""

    def count_tokens(self, request: ModelRequest) -> int:
        """Count or over-estimate the input tokens of `request` (a tokenizer's count plus 15 %)."""

    def window_tokens(self) -> int:
        """Give the smallest input window of the configured models."""

    def most_usd_micros(self, input_tokens: int, output_tokens: int) -> int:
        """Give the most that a request of so many tokens may cost, in millionths of a dollar; 0 where it is free."""


class Exchange(Value):
    """One answered call as the investigator may see it."""

    batch: str
    ordinal: int
    call_id: str
    name: str
    arguments: str
    how: Literal["receipt", "replay", "refusal", "internal", "interrupt"]
    key: str
    shown: str
    """What is shown of the answer: the rendered, bounded text, or the one line left after eviction."""
    evidence: tuple[str, ...] = ()
    failed: bool = False


class LoopView(Value):
    """Everything an investigator may look at for its next turn; a pure function of the journal."""

    investigation: Investigation
    turn: int
    last: bool
    """True when tools are withdrawn: conclude now."""
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    """The conversation so far, fitted to the window: for an investigator that reads text."""
    exchanges: tuple[Exchange, ...]
    evidence: tuple[EvidenceItem, ...]
    excluded: tuple[Excluded, ...]
    asked: tuple[Asked, ...]
    contents: SkipValidation[Mapping[str, SignalContent]]
    """Full content by digest, parsed when it is looked at: for an investigator that reads values.

    Holds the first MAX_HELD_CONTENT_BYTES of evidence in order of admission; for one that is not in it,
    the observation's own (truncated) content is all there is.
    """
    ledger: Ledger
    spend: Spend
    guarded_tokens: int = 0
    """Tokens used by the loop, with our own upper estimate where the provider gave no usage."""
    dearest_turn_usd_micros: int = 0
    max_output_tokens: int = 4_096
    """What the request may ask for, so that request and answer fit the window."""


class Investigator(Protocol):
    """Who decides the next turn: a model, or the analyst."""

    @property
    def models(self) -> tuple[str, ...]:
        """Give the ordered model list; ("analyst",) for the analyst."""

    def request(self, view: LoopView) -> ModelRequest:
        """Write the request for the next turn: deterministic, so that a resumed worker asks the same."""

    async def answer(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:
        """Answer it. Raises ModelError when it cannot be answered."""

    def diagnose_request(self, view: LoopView) -> ModelRequest:
        """Write the request for the structured diagnosis: no tools, a closed schema."""

    async def diagnose(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:
        """Answer it with JSON text of `domain.diagnosis.Proposal`'s wire form. Raises ModelError."""
