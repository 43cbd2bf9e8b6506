"""Taking a post in: keys for its members, one id for its receipt, at most two tries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from inquest.domain.intake import Accepted, Arrival, Keyed, keyed
from inquest.errors import StoreUnavailable
from inquest.ports import Ids, Intake

ACCEPT_TIMEOUT_S = 8.0
"""Both tries together. The strictest senders of alerts give up after 10 s (Alertmanager, GitLab)."""
MANY_ALERTS = 200
"""A post of more alerts is keyed in a thread: 0.1 ms each would hold up the event loop."""


async def accept(arrival: Arrival, *, intake: Intake, ids: Ids) -> Accepted:
    """Take `arrival` in and give what came of it, after the commit.

    The receipt's id is made before the first try, so that a connection broken by a restart of the database
    can be tried once more: if the first try did commit, the second only reads its answer. Raises
    StoreUnavailable when neither answers in ACCEPT_TIMEOUT_S.
    """
    arrival, members = await _keyed(arrival)
    receipt_id = ids.new()
    try:
        async with asyncio.timeout(ACCEPT_TIMEOUT_S):
            try:
                return await intake.accept(receipt_id, arrival, members)
            except StoreUnavailable:
                return await intake.accept(receipt_id, arrival, members)
    except TimeoutError as error:
        raise StoreUnavailable(f"the post was not taken in within {ACCEPT_TIMEOUT_S:g} s") from error


async def _keyed(arrival: Arrival) -> tuple[Arrival, Sequence[Keyed]]:
    if len(arrival.post.alerts) > MANY_ALERTS:
        members, warnings = await asyncio.to_thread(keyed, arrival.post, arrival.intake)
    else:
        members, warnings = keyed(arrival.post, arrival.intake)
    if warnings:
        post = arrival.post.but(parse_warnings=(*arrival.post.parse_warnings, *warnings))
        arrival = arrival.but(post=post)
    return arrival, members
