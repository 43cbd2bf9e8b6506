"""Deliveries: revisions of a report and how far each has got."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from inquest.domain.failure import MAX_RETRY_AFTER_MS
from inquest.domain.value import Value


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
    """Why a send did not happen, and whether trying again can help."""

    reason: str
    retry: bool
    retry_after_ms: int | None = None


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
    before this one. `thread_root` is the reference of the episode's first message at this destination.
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
    thread_root: str | None

    @property
    def marker(self) -> str:
        """Give the text by which the first send of this revision is found again: INVESTIGATION/rN."""
        return f"{self.investigation_id}/r{self.revision}"


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


Ending = Sent | Postponed | Uncertain | Absent | GivenUp | Unknowable
"""How one act of sending ended."""


def after_refusal(attempts: int, failed: DeliveryFailed) -> Postponed | GivenUp:
    """Say what follows a try that surely did not arrive. `attempts` counts the tries made, this one included."""
    if not failed.retry or attempts >= MAX_DELIVERY_ATTEMPTS:
        return GivenUp(reason=failed.reason)
    return Postponed(reason=failed.reason, wait_ms=_wait_ms(attempts, failed.retry_after_ms))


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
