"""One stretch of trouble of a group, as an investigation sees it."""

from __future__ import annotations

from pydantic import Field

from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.value import Instant, Value


class Member(Value):
    """An alert of the episode, with its counts. `occurrences` is how many posts named it while it fired."""

    alert_id: str
    alert: Alert
    occurrences: int = Field(ge=1)
    first_seen: Instant
    last_seen: Instant


class Episode(Value):
    """The group's members when they were read: the opening ones first, then those that joined."""

    episode_id: str
    group_key: str
    intake: str
    source: str
    opened_at: Instant
    members: tuple[Member, ...]
    sender: dict[str, str] = Field(default_factory=dict)
    previous_investigation_id: str | None = None

    @property
    def firing(self) -> tuple[Member, ...]:
        """Give the members that still fire."""
        return tuple(member for member in self.members if member.alert.status is AlertStatus.FIRING)
