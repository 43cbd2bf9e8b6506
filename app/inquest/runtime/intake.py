"""Taking a post in: keys for its members, secrets masked, one id for its receipt, at most two tries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from inquest.domain.intake import Accepted, Arrival, Keyed, keyed
from inquest.errors import StoreUnavailable
from inquest.ports import Ids, Intake
from inquest.runtime.masking import FORMATS_ONLY, masked_members, masked_post
from inquest.runtime.presence import Presence
from inquest.wire.redaction import Redactor

ACCEPT_TIMEOUT_S = 8.0
"""Both tries together. Senders of alerts give up after 10 s (Alertmanager, GitLab)."""
MANY_ALERTS = 200
"""A post of more alerts is keyed in a thread: 0.1 ms each would hold up the event loop."""
MANY_BYTES = 32_768
"""So is a longer one: its text is masked too."""


_unfinished: set[asyncio.Task[Accepted]] = set()
"""Posts whose senders were told to come again, and that are still being taken in."""


async def _nothing_known() -> None:
    """Stand for a store that nobody can be asked about."""


async def accept(
    arrival: Arrival, *, intake: Intake, ids: Ids, redactor: Redactor = FORMATS_ONLY, presence: Presence | None = None
) -> Accepted:
    """Take `arrival` in and give what came of it, after the commit.

    `redactor` knows the configured secrets of the workspace: a sender may repeat one. `presence` tells within a
    second that the store is away; without it that is told after ACCEPT_TIMEOUT_S.

    Raises StoreUnavailable when it is not taken in after two tries, when the store stops answering, or after
    ACCEPT_TIMEOUT_S. In the latter two cases the work goes on: a post too large for the sender's patience is then
    found there when it comes again.
    """
    presence = presence or Presence(_nothing_known)
    await presence.expected()
    arrival, members = await _keyed(arrival, redactor)
    task = asyncio.create_task(_take_in(arrival, members, intake, ids.new()))
    _unfinished.add(task)
    task.add_done_callback(_finish)
    return await presence.during(task, ACCEPT_TIMEOUT_S)


async def _take_in(arrival: Arrival, members: Sequence[Keyed], intake: Intake, receipt_id: str) -> Accepted:
    """Try once more under the same receipt id when the connection broke, as in a restart of the database.

    If the first try did commit, the second only reads its answer.
    """
    try:
        return await intake.accept(receipt_id, arrival, members)
    except StoreUnavailable:
        return await intake.accept(receipt_id, arrival, members)


def _finish(task: asyncio.Task[Accepted]) -> None:
    """Let go of `task`, and look at how it ended: its sender may be gone."""
    _unfinished.discard(task)
    if not task.cancelled():
        task.exception()


async def _keyed(arrival: Arrival, redactor: Redactor) -> tuple[Arrival, Sequence[Keyed]]:
    if len(arrival.post.alerts) > MANY_ALERTS or len(arrival.body) > MANY_BYTES:
        return await asyncio.to_thread(_named_and_masked, arrival, redactor)
    return _named_and_masked(arrival, redactor)


def _named_and_masked(arrival: Arrival, redactor: Redactor) -> tuple[Arrival, Sequence[Keyed]]:
    """Name the members by what was sent, then mask it."""
    members, warnings = keyed(arrival.post, arrival.intake)
    post = masked_post(arrival.post, redactor)
    if warnings:
        post = post.but(parse_warnings=(*post.parse_warnings, *warnings))
    return arrival.but(post=post), masked_members(members, redactor)
