"""Deliveries: revisions of a report and how far each has got."""

from __future__ import annotations

from enum import StrEnum

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
