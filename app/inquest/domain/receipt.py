"""What the lists of the intake show: receipts, alerts, heartbeats."""

from __future__ import annotations

from inquest.domain.alert import AlertStatus
from inquest.domain.intake import MemberOutcome, ReceiptState
from inquest.domain.value import Instant, Value


class Receipt(Value):
    """One post as it is remembered. `reason` says why it is quarantined; `body_digest` names its bytes."""

    receipt_id: str
    intake: str
    state: ReceiptState
    reason: str
    received_at: Instant
    remote: str
    body_digest: str
    members: int
    counts: dict[MemberOutcome, int]
    warnings: tuple[str, ...]
    investigation_ids: tuple[str, ...]


class AlertRow(Value):
    """One alert as it stands. `stale`: no post named it for stale_after; its sender never resolved it."""

    alert_id: str
    intake: str
    name: str
    status: AlertStatus
    stale: bool
    labels: dict[str, str]
    starts_at: Instant
    ends_at: Instant | None
    occurrences: int
    first_seen: Instant
    last_seen: Instant
    episode_id: str | None
    heartbeat: bool


class Standing(Value):
    """Where an episode stands now, for a report's headline.

    `quiet_since` None: a member fires. `next_investigation_id`: of the episode that followed it.
    """

    episode_id: str
    version: int
    firing: bool
    quiet_since: Instant | None
    ended_at: Instant | None
    next_investigation_id: str | None
