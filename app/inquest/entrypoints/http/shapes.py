"""What the API answers, as shapes for its document. Answers are written by hand; tests hold them to these."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inquest.domain.budget import Spend
from inquest.domain.event import Event
from inquest.domain.intake import Admitted, MemberOutcome, ReceiptState
from inquest.domain.investigation import Origin, Status
from inquest.domain.value import Instant, Value


class ErrorShown(Value):
    """`code` is for programs, `message` for people."""

    code: str
    message: str


class Problem(Value):
    """An error, in our words; a value of the request is never repeated."""

    error: ErrorShown


class PostTaken(Value):
    """What came of a sender's post, after the commit."""

    receipt_id: str
    state: ReceiptState
    counts: dict[MemberOutcome, int]
    investigations: tuple[Admitted, ...]


class QuestionShown(Value):
    """What a waiting investigation asks; it goes on without an answer at `expires_at`. `prompt` is untrusted text."""

    interrupt_id: str
    prompt: str
    raised_at: Instant
    expires_at: Instant


class InvestigationShown(Value):
    """One investigation. `verdict`, `title` and `service` are "" while unknown; `severity_rank` is 4 critical to 1 info."""

    id: str
    workspace: str
    episode_id: str
    opened_by: str
    workflow: str
    status: Status
    severity_rank: int
    not_before: Instant | None
    defer_reason: str
    generation: int
    attempt: int
    deadline_at: Instant | None
    spend: Spend
    parent_id: str | None = Field(description="Of a re-run: what it repeats")
    origin: Origin | None
    verdict: str
    title: str
    service: str
    created_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    question: QuestionShown | None = Field(description="While it waits for an answer")


class InvestigationList(Value):
    """One page, newest first. `next` is the `cursor` of the page behind it, null on the last one."""

    investigations: tuple[InvestigationShown, ...]
    next: str | None


class EventList(Value):
    """Events in order. `next` is what to ask `after` for more, null when this is all there is now."""

    events: tuple[Event, ...]
    next: int | None


class SentShown(Value):
    """What a destination still has: its own name for a message, or a folder."""

    destination: str
    reference: str


class DeletedShown(Value):
    """What a delete came to. `deleting`: a message is under way, and the text goes when it must be over."""

    id: str
    state: Literal["deleted", "deleting"]
    stays: tuple[SentShown, ...]
    note: str


class HaltShown(Value):
    """One halt that stands. `workspace` is null where everything is halted."""

    workspace: str | None
    since: Instant
    actor: str


class HaltList(Value):
    """What is halted now: the halt of everything first."""

    halts: tuple[HaltShown, ...]


class Alive(Value):
    """The process answers."""

    status: Literal["ok"]


class Ready(Value):
    """An alert could be accepted now, or `missing` says why not."""

    status: Literal["ready", "not ready"]
    missing: str = ""
