"""Deliveries: revisions of a report and how far each has got."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from inquest.domain.failure import MAX_RETRY_AFTER_MS
from inquest.domain.investigation import Origin
from inquest.domain.value import Instant, Value

ROOT, REPLY = "thread", "report"
"""The two messages of a destination that speaks in threads, each a target of its own (ADR 0014)."""
MESSAGE_MARK = "#"
"""Between a destination's name and the one of its message; no configured name holds it."""


def message_name(destination: str, message: str) -> str:
    """Name one message of a destination that has several: `slack#thread`."""
    return f"{destination}{MESSAGE_MARK}{message}"


def destination_of(message: str) -> str:
    """Give the destination's name out of the one of a message of it."""
    return message.partition(MESSAGE_MARK)[0]


class RevisionKind(StrEnum):
    """Why a revision was planned (design 12)."""

    RECEIVED = "received"
    PROGRESS = "progress"
    QUESTION = "question"
    REPORT = "report"
    MEMBERS = "members"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RESOLVED = "resolved"
    NOISE = "noise"


class DeliveryState(StrEnum):
    """planned -> reserved -> sent | unknown_outcome | failed; planned -> superseded."""

    PLANNED = "planned"
    RESERVED = "reserved"
    SENT = "sent"
    SUPERSEDED = "superseded"
    UNKNOWN_OUTCOME = "unknown_outcome"
    FAILED = "failed"


class Sent(Value):
    """What a destination gave back: the reference by which the message is found and edited again."""

    reference: str


class DeliveryFailed(Value):
    """Why a send did not happen, and whether trying again can help.

    `uncertain`: it may have arrived all the same (the answer was lost, or said that the vendor broke).
    """

    reason: str
    retry: bool
    retry_after_ms: int | None = None
    uncertain: bool = False


class Thread(Value):
    """A thread that the episode has at a destination: its root's reference. `own`: this investigation began it."""

    reference: str
    own: bool


class Address(Value):
    """Where one message is, or is to go.

    `marker` is the text by which its first send is found again, `reference` is known once it was sent. `thread`
    is the root that a reply goes under. `since`: it was not there before, by the database's clock.
    """

    marker: str
    reference: str | None = None
    thread: str | None = None
    origin: Origin | None = None
    since: Instant | None = None


# ---- one act of sending --------------------------------------------------------------------------------

MAX_RENDERED_BYTES = 64 * 1024 * 1024
"""What one revision may come to when it is rendered. The largest form is a folder: 32 MiB of evidence, and three forms
of the report."""
MAX_DELIVERY_ATTEMPTS = 10
DELIVERY_BACKOFF_S = (2, 10, 60, 300, 900, 1_800, 3_600)
"""Seconds before the next try after the first, second .. failed one; the last repeats. Ten tries take about five hours."""


class DeliveryFence(Value):
    """The right to send to one target: its owner and its own generation."""

    target_id: str
    owner_id: str
    generation: int = Field(ge=1)


class DeliveryClaimed(Value):
    """What the owner of a target is to do now.

    `step` "send": send `revision`, or edit with it where there is a `reference`. "find": an earlier first
    send may have arrived; look for it before anything else. `attempts` counts the tries of this revision
    before this one. `thread` is the one of the episode at this destination, for messages of a thread.
    """

    fence: DeliveryFence
    investigation_id: str
    episode_id: str
    workspace: str
    destination: str
    revision: int = Field(ge=1)
    kind: RevisionKind
    note: str
    step: Literal["send", "find"]
    attempts: int = Field(ge=0)
    reference: str | None
    thread: Thread | None = None
    origin: Origin | None = None
    planned_at: Instant

    @property
    def marker(self) -> str:
        """Give the text by which the first send of this revision is found again: INVESTIGATION/rN[#MESSAGE]."""
        _, mark, message = self.destination.partition(MESSAGE_MARK)
        return f"{self.investigation_id}/r{self.revision}{mark}{message}"

    @property
    def guest(self) -> bool:
        """Say whether it speaks in a thread that another investigation, or a human, began."""
        return self.thread is not None and not self.thread.own

    @property
    def address(self) -> Address:
        """Give where the message is, or is to go."""
        return Address(
            marker=self.marker,
            reference=self.reference,
            thread=None if self.thread is None else self.thread.reference,
            origin=self.origin,
            since=self.planned_at,
        )


class Postponed(Value):
    """Surely not sent: planned again, not before `wait_ms` from now."""

    ending: Literal["postponed"] = "postponed"
    reason: str
    wait_ms: int = Field(ge=0)


class Uncertain(Value):
    """It may have arrived, and may yet: reserved until its deadline, and at least for `wait_ms`."""

    ending: Literal["uncertain"] = "uncertain"
    reason: str
    wait_ms: int = Field(default=0, ge=0)


class Absent(Value):
    """Looked for, and surely not there: planned again at once."""

    ending: Literal["absent"] = "absent"


class GivenUp(Value):
    """Surely not sent, and trying again does not help, or was tried often enough."""

    ending: Literal["given_up"] = "given_up"
    reason: str


class Unknowable(Value):
    """It may have arrived and cannot be looked up: nothing more is sent there until a human has looked."""

    ending: Literal["unknowable"] = "unknowable"
    reason: str


class Unsaid(Value):
    """Not sent: this message says nothing of this revision."""

    ending: Literal["unsaid"] = "unsaid"


Ending = Sent | Postponed | Uncertain | Absent | GivenUp | Unknowable | Unsaid
"""How one act of sending ended."""


def after_refusal(attempts: int, failed: DeliveryFailed) -> Postponed | GivenUp:
    """Say what follows a try that surely did not arrive. `attempts` counts the tries made, this one included."""
    if not failed.retry or attempts >= MAX_DELIVERY_ATTEMPTS:
        return GivenUp(reason=failed.reason)
    return Postponed(reason=failed.reason, wait_ms=_wait_ms(attempts, failed.retry_after_ms))


def after_lost_answer(attempts: int, reason: str, *, is_edit: bool) -> Uncertain | GivenUp:
    """Say what follows a try that may have arrived. `attempts` counts the tries made, this one included.

    A first send is looked up, however often that takes; an edit is repeated, but not for ever.
    """
    if is_edit and attempts >= MAX_DELIVERY_ATTEMPTS:
        return GivenUp(reason=reason)
    return Uncertain(reason=reason, wait_ms=_wait_ms(attempts, None))


def after_absence(attempts: int) -> Absent | GivenUp:
    """Say what follows a first send that is surely not there. `attempts` counts the tries made."""
    if attempts >= MAX_DELIVERY_ATTEMPTS:
        return GivenUp(reason="it was sent many times, and never arrived")
    return Absent()


def after_blind_look(attempts: int, failed: DeliveryFailed) -> Uncertain | Unknowable:
    """Say what follows when the destination could not be asked whether a first send arrived.

    `attempts` counts the tries and looks made, this one included.
    """
    if not failed.retry or attempts >= MAX_DELIVERY_ATTEMPTS:
        return Unknowable(reason=failed.reason)
    return Uncertain(reason=failed.reason, wait_ms=_wait_ms(attempts, failed.retry_after_ms))


def _wait_ms(attempts: int, asked_ms: int | None) -> int:
    """Give the longer of our own wait and the one that the destination asked for, an hour at most."""
    own_ms = DELIVERY_BACKOFF_S[min(max(attempts, 1), len(DELIVERY_BACKOFF_S)) - 1] * 1_000
    return max(own_ms, min(asked_ms or 0, MAX_RETRY_AFTER_MS))
