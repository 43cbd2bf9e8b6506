"""A named, authenticated way in: its configuration, what one post asks for, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from inquest.domain.alert import (
    DEFAULT_GROUP_BY,
    DEFAULT_UNSTABLE_LABELS,
    Alert,
    Post,
    group_key,
    identity_fingerprint,
)
from inquest.domain.episode import Member
from inquest.domain.investigation import Status
from inquest.domain.value import Digest, Instant, Value

MAX_ALERTS = 20_000
"""Members of one post that are taken; those above are quarantined (design 6)."""
MAX_NEW_PER_HOUR = 10_000
"""The most that `max_new_per_hour` may be set to: accept reads as many rows."""
MAX_WARNINGS = 20
"""Warnings kept of one post; the last says how many more there were."""


_HEADER_NAME = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_|~-]{1,64}\Z")


class NoAuth(Value):
    """Anybody may post. Only ever on purpose, on a loopback address."""

    kind: Literal["none"] = "none"


class BearerAuth(Value):
    """Any of these tokens opens the door: two while one is being replaced."""

    kind: Literal["bearer"] = "bearer"
    tokens: tuple[SecretStr, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_secret(self) -> Self:
        _refuse_empty(self.tokens)
        return self


class BasicAuth(Value):
    """HTTP basic authentication (RFC 7617), with any of these passwords."""

    kind: Literal["basic"] = "basic"
    username: str = Field(min_length=1)
    passwords: tuple[SecretStr, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_secret(self) -> Self:
        _refuse_empty(self.passwords)
        return self


class HeaderAuth(Value):
    """A secret in a header of its own, for senders that sign nothing and set headers. Any of these opens the door.

    `header` is a name of RFC 9110 (5.1), whose case does not matter.
    """

    kind: Literal["header"] = "header"
    header: str
    tokens: tuple[SecretStr, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_secret(self) -> Self:
        if not _HEADER_NAME.match(self.header):
            msg = "auth.header: write the name of a header, such as X-Inquest-Token"
            raise ValueError(msg)
        _refuse_empty(self.tokens)
        return self


def _refuse_empty(secrets: Sequence[SecretStr]) -> None:
    if any(not secret.get_secret_value().strip() for secret in secrets):
        msg = "an empty secret would let anybody in"
        raise ValueError(msg)


Auth = Annotated[NoAuth | BearerAuth | BasicAuth | HeaderAuth, Field(discriminator="kind")]


class IntakeConfig(Value):
    """One intake. `destinations` are the names of those that hear of its investigations.

    `stale_after` is above the sender's repeat interval: a member silent for longer no longer fires.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    type: str
    workspace: str
    auth: Auth
    group_by: tuple[str, ...] = DEFAULT_GROUP_BY
    unstable_labels: frozenset[str] = DEFAULT_UNSTABLE_LABELS
    quiet_for: timedelta = Field(default=timedelta(minutes=15), gt=timedelta(0))
    cooldown: timedelta = Field(default=timedelta(minutes=30), ge=timedelta(0))
    stale_after: timedelta = Field(default=timedelta(hours=5), gt=timedelta(0))
    max_new_per_hour: int = Field(default=60, ge=1, le=MAX_NEW_PER_HOUR)
    destinations: tuple[str, ...] = ()


class RetentionAges(Value):
    """How long a workspace keeps what has ended: investigations with their evidence, and what the senders posted."""

    investigations: timedelta = timedelta(days=180)
    intake: timedelta = timedelta(days=90)


class DailyCeilings(Value):
    """Dollars a day (UTC), in millionths; once spent, new investigations are deferred. None: no ceiling."""

    workspace_usd_micros: int | None = Field(default=None, ge=0)
    installation_usd_micros: int | None = Field(default=None, ge=0)


class MemberOutcome(StrEnum):
    """What became of one member: the words of the accounting equation (design 6)."""

    OPENED = "opened"
    JOINED = "joined"
    DEFERRED = "deferred"
    DUPLICATE = "duplicate"
    LINKED = "linked"
    RESOLVED_ONLY = "resolved_only"
    HEARTBEAT = "heartbeat"
    NOISE = "noise"
    FOLLOW_UP = "follow_up"
    QUARANTINED = "quarantined"


class ReceiptState(StrEnum):
    """What became of one post."""

    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    REPEATED = "repeated"


class Arrival(Value):
    """One post as it came: its inflated bytes and their digest, who sent it, and what was understood of it."""

    intake: IntakeConfig
    ceilings: DailyCeilings = DailyCeilings()
    post: Post
    body: bytes
    body_digest: Digest
    remote: str = ""


class Keyed(Value):
    """An alert with the keys that name it and its group, and its canonical bytes."""

    alert: Alert
    group_key: str
    body: bytes


class Admitted(Value):
    """An investigation that members of the post belong to."""

    investigation_id: str
    episode_id: str
    status: Status
    not_before: Instant | None = None
    defer_reason: str = ""


class Accepted(Value):
    """What came of a post, after the commit.

    `outcomes` has a word for each member in order; None when an earlier try under the same receipt had
    decided them already.
    """

    receipt_id: str
    state: ReceiptState
    counts: dict[MemberOutcome, int]
    investigations: tuple[Admitted, ...] = ()
    outcomes: tuple[MemberOutcome, ...] | None = None


class Changes(Value):
    """What an episode's members did since `since`; `version` is what to ask with next.

    `joined` are new members as they are now, `resolved` the ids of those that stopped firing since (one that
    joined and stopped is in both), `fired_again` of those that fire once more, in the order of members.
    `unlisted` counts joined members that are not listed, for their number or size, and so do
    `unlisted_resolved` and `unlisted_fired_again`.
    """

    since: int
    version: int
    joined: tuple[Member, ...] = ()
    resolved: tuple[str, ...] = ()
    fired_again: tuple[str, ...] = ()
    unlisted: int = 0
    unlisted_resolved: int = 0
    unlisted_fired_again: int = 0


def keyed(post: Post, intake: IntakeConfig) -> tuple[tuple[Keyed, ...], tuple[str, ...]]:
    """Give each alert of `post` the fingerprint that its sender left out, and its group; with warnings."""
    members = []
    alone = 0
    for alert in post.alerts:
        named = alert
        if not alert.fingerprint:
            named = alert.but(fingerprint=identity_fingerprint(alert.labels, intake.unstable_labels))
        alone += not any(alert.labels.get(name) for name in intake.group_by)
        key = group_key(intake.workspace, alert.labels, intake.group_by, named.fingerprint)
        members.append(Keyed(alert=named, group_key=key, body=named.canonical()))
    if not alone:
        return tuple(members), ()
    by = ", ".join(intake.group_by) or "nothing"
    return tuple(members), (f"no dedupe field present in {alone} alerts (group_by: {by}): each is a group of its own",)


def bounded_warnings(warnings: Sequence[str]) -> tuple[str, ...]:
    """Keep the first MAX_WARNINGS that differ, and say how many more there were."""
    distinct = tuple(dict.fromkeys(warnings))
    if len(distinct) <= MAX_WARNINGS:
        return distinct
    return (*distinct[: MAX_WARNINGS - 1], f"and {len(distinct) - MAX_WARNINGS + 1} more warnings")
