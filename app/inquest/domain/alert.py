"""Alerts: what a sender says is wrong, and the keys that name it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.value import Instant, Labels, Value

DEFAULT_GROUP_BY = ("alertname", "cluster", "namespace", "service")
DEFAULT_UNSTABLE_LABELS = frozenset(
    {"pod", "instance", "container_id", "pod_template_hash", "replica", "prometheus_replica", "uid"}
)
HEARTBEAT_NAMES = frozenset({"Watchdog", "InfoInhibitor"})


class AlertStatus(StrEnum):
    """Whether the sender says that the condition holds."""

    FIRING = "firing"
    RESOLVED = "resolved"


class Alert(Value):
    """One signal as its sender described it, sanitised, not believed.

    `starts_at` and `ends_at` are None where the sender gave none (Alertmanager's year 1 is none).
    Links are opaque untrusted text: shown, never fetched.
    """

    fingerprint: str
    name: str
    status: AlertStatus
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    labels: Labels = Field(default_factory=dict)
    annotations: Labels = Field(default_factory=dict)
    generator_url: str = ""

    @property
    def severity(self) -> str:
        """Give the severity label in lower case, "" where there is none."""
        return self.labels.get("severity", "").strip().lower()

    @property
    def is_heartbeat(self) -> bool:
        """Say whether this alert only proves that the sender lives (design 6)."""
        return self.name in HEARTBEAT_NAMES or self.severity == "none"


class Post(Value):
    """What one request of a sender says, parsed by a total function.

    `quarantine` is the reason why nothing in it is understood; then `alerts` is empty. `quarantined_alerts`
    counts members that are not understood or over the cap, beside those that are; `truncated_alerts` those
    that the sender says it left out. `sender` holds facts about the post as a whole (its own group key,
    external URL, notification reason).
    """

    source: str
    alerts: tuple[Alert, ...] = ()
    quarantine: str | None = None
    parse_warnings: tuple[str, ...] = ()
    delivery_id: str | None = None
    quarantined_alerts: int = 0
    truncated_alerts: int = 0
    sender: Labels = Field(default_factory=dict)


SEVERITY_RANKS = {
    "critical": 4, "page": 4, "emergency": 4, "fatal": 4, "p1": 4, "sev0": 4, "sev1": 4, "disaster": 4,
    "error": 3, "high": 3, "major": 3, "p2": 3, "sev2": 3,
    "warning": 2, "warn": 2, "medium": 2, "minor": 2, "average": 2, "p3": 2, "sev3": 2,
    "info": 1, "low": 1, "notice": 1, "p4": 1, "p5": 1, "sev4": 1,
}  # fmt: skip
UNKNOWN_SEVERITY_RANK = 2


def severity_rank(severity: str) -> int:
    """Order severities: 4 critical .. 1 info; a word that we do not know ranks as a warning."""
    return SEVERITY_RANKS.get(severity.strip().lower(), UNKNOWN_SEVERITY_RANK)


def identity_fingerprint(labels: Labels, unstable: frozenset[str] = DEFAULT_UNSTABLE_LABELS) -> str:
    """Name an alert whose sender gave no fingerprint: sha256 of its sorted labels less the unstable ones.

    An alert that has only unstable labels is named by all of them: never by a constant.
    """
    stable = {name: value for name, value in labels.items() if name not in unstable}
    return digest_of(canonical_json(dict(stable or labels)))[len("sha256:") :]


def group_key(workspace: str, labels: Labels, by: tuple[str, ...], fingerprint: str) -> str:
    """Name the group of an alert: 64 hex over the workspace and the values of the labels `by`.

    The order of `by` does not matter. When none of them is present the fingerprint stands in, so that
    unrelated alerts never share a group.
    """
    present: dict[str, str] = {name: labels[name] for name in by if labels.get(name)}
    basis = present or {"": fingerprint}
    return digest_of(canonical_json([workspace, dict(basis)]))[len("sha256:") :]
