"""Queries, and the closed union of what can come back: observations with provenance, or a failure."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.failure import Failure
from inquest.domain.value import Digest, Instant, Json, Value
from inquest.domain.window import Window

ENVELOPE_VERSION: Literal[1] = 1
TRUST: Literal["untrusted-provider-output"] = "untrusted-provider-output"

Signal = Literal["metrics", "logs", "changes", "alerts", "rules", "traces", "workloads", "names", "human", "derived"]
"""The kind of thing that was looked at; three kinds are wanted before a conclusion where connected."""

MAX_ITEMS = 5_000
MAX_BYTES = 1_048_576
MAX_PAGES = 10
MAX_TIMEOUT_MS = 30_000


class QueryBudget(Value):
    """What one query may take. Above a ceiling it is invalid_query, never clamped silently."""

    max_items: int = Field(default=500, gt=0, le=MAX_ITEMS)
    max_bytes: int = Field(default=65_536, gt=0, le=MAX_BYTES)
    max_pages: int = Field(default=3, gt=0, le=MAX_PAGES)
    timeout_ms: int = Field(default=15_000, gt=0, le=MAX_TIMEOUT_MS)


class Query(Value):
    """What is asked of one tool: exactly these, nothing about who asks.

    `arguments` are the tool's own (an expression under "expression", or typed ones), with defaults filled
    and times snapped, without the time range. `service_id` is "" where the alert names no service.
    """

    tool: str
    service_id: str
    arguments: dict[str, Json]
    time_range: Window
    budget: QueryBudget = QueryBudget()
    cursor: str | None = None

    @property
    def expression(self) -> str:
        """Give the free expression, "" for a tool with typed arguments only."""
        found = self.arguments.get("expression", "")
        return found if isinstance(found, str) else ""

    def fingerprint(self) -> str:
        """Give the digest that makes two queries the same one, whatever page they ask."""
        return self.but(cursor=None).canonical_digest()


class Context(Value):
    """Who reads, where: from the host's configuration and its pins, never from a model or an alert."""

    issuer: str
    audience: str
    resource: str
    tenant: str
    workspace: str
    connector: str


class Content(Value):
    """What is shown of an answer. `body` is JSON for the json kinds, text for the text kinds.

    A truncated-json body is a whole JSON value again: lists lose their last items.
    """

    kind: Literal["json", "text", "truncated-json", "truncated-text"]
    body: Json


class Truncation(Value):
    """How much of the normalised, redacted answer is shown."""

    original_items: int = Field(ge=0)
    original_bytes: int = Field(ge=0)
    kept_items: int = Field(ge=0)
    kept_bytes: int = Field(ge=0)


class Observation(Value):
    """One bounded reply with its provenance.

    `digest` is over the full normalised and redacted content (canonical JSON, before truncation), whose
    bytes are in the content store; pointers address that full content. `expression` is the query as it
    was sent, mandatory matchers included. `error` is set on what a partial answer still brought.
    """

    schema_version: Literal[1] = ENVELOPE_VERSION
    source: str
    tenant: str
    workspace: str
    service: str
    signal: Signal
    tool: str
    expression: str
    time_range: Window
    cursor: str | None
    retrieved_at: Instant
    content: Content
    digest: Digest
    truncated: bool
    truncation: Truncation
    redaction_version: int
    error: Failure | None = None
    trust: Literal["untrusted-provider-output"] = TRUST

    @model_validator(mode="after")
    def _truncation_is_said(self) -> Self:
        if self.truncated != self.content.kind.startswith("truncated-"):
            msg = "truncated and the kind of content say the same"
            raise ValueError(msg)
        return self

    @property
    def observation_id(self) -> str:
        """Give the digest of the envelope without retrieved_at: the name that citations use."""
        envelope = self.model_dump(mode="json", exclude={"retrieved_at"})
        return digest_of(canonical_json(envelope))


class Ok(Value):
    """The whole page that was asked for."""

    status: Literal["ok"] = "ok"
    observations: tuple[Observation, ...]
    next_cursor: str | None = None


class Partial(Value):
    """Some of it: every observation obtained before the failure, and the failure."""

    status: Literal["partial"] = "partial"
    observations: tuple[Observation, ...]
    error: Failure
    next_cursor: str | None = None


class Error(Value):
    """Nothing: only why."""

    status: Literal["error"] = "error"
    error: Failure


Outcome = Annotated[Ok | Partial | Error, Field(discriminator="status")]


class Provenance(Value):
    """Who answers a tool, from the host's configuration: what an observation of it must say (checklist 30)."""

    source: str
    signal: Signal
    tenant: str
    workspace: str


class Recorded(Value):
    """An outcome as a root value, so that it has bytes and a digest.

    `expected` is None when the tool was no longer configured. `tries` counts the calls of the tool within
    this dispatch, `exchanges` the requests they sent (0: refused before anything was sent). `unbacked`
    names observations whose full content was missing or had another digest.
    """

    outcome: Outcome
    expected: Provenance | None = None
    tries: int = Field(default=1, ge=0)
    exchanges: int = Field(default=1, ge=0)
    unbacked: tuple[Digest, ...] = ()
