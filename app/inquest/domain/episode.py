"""One stretch of trouble of a group, as an investigation sees it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from inquest.domain.alert import Alert, AlertStatus, severity_rank
from inquest.domain.value import Instant, Value


class Member(Value):
    """An alert of the episode, with its counts. `occurrences` is how many posts named it while it fired."""

    alert_id: str
    alert: Alert
    occurrences: int = Field(ge=1)
    first_seen: Instant
    last_seen: Instant


class Episode(Value):
    """The group's members when they were read: the opening ones first, then those that joined.

    `version` moves whenever a member joins, stops or fires again: ask for the changes since. Members beyond
    a bound in number and bytes are only counted, in `unlisted_members`.
    """

    episode_id: str
    group_key: str
    intake: str
    source: str
    opened_at: Instant
    members: tuple[Member, ...] = Field(min_length=1)
    sender: dict[str, str] = Field(default_factory=dict)
    previous_investigation_id: str | None = None
    version: int = 1
    unlisted_members: int = 0

    @property
    def firing(self) -> tuple[Member, ...]:
        """Give the members that still fire."""
        return tuple(member for member in self.members if member.alert.status is AlertStatus.FIRING)

    @property
    def last_end(self) -> datetime | None:
        """Give when the last member stopped firing, as the senders say it.

        None while one fires, and where not every end is known: some senders give none, and members may be unlisted.
        """
        ends = [member.alert.ends_at for member in self.members]
        if self.firing or self.unlisted_members or None in ends:
            return None
        return max(end for end in ends if end is not None)

    @property
    def primary(self) -> Member:
        """Give the member that stands for the episode: firing before resolved, most severe, then earliest."""
        return min(
            self.members,
            key=lambda member: (
                member.alert.status is not AlertStatus.FIRING,
                -severity_rank(member.alert.severity),
                member.alert.starts_at or member.first_seen,
                member.alert.fingerprint,
            ),
        )

    @property
    def common_labels(self) -> dict[str, str]:
        """Give the labels that every member carries with the same value."""
        first, *rest = self.members
        return {
            name: value
            for name, value in first.alert.labels.items()
            if all(member.alert.labels.get(name) == value for member in rest)
        }
