"""What takes a post in, and the engine that rings for what it admitted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

from inquest.domain.intake import Accepted, Arrival, Keyed


class Intake(Protocol):
    """Where posts are taken in."""

    async def accept(self, receipt_id: str, arrival: Arrival, members: Sequence[Keyed]) -> Accepted:
        """Take one post in, in one transaction. A second call under one receipt id gives the first answer.

        Raises StoreUnavailable; then it may or may not have been taken in.
        """


class Engine(Protocol):
    """What hears the bells of one queue and calls for each. The store's functions ring them, in their own transactions."""

    async def serve(
        self, queue: Literal["investigations", "deliveries"], on_ring: Callable[[str], Awaitable[None]], *, slots: int
    ) -> None:
        """Call `on_ring` with the id of each ring, at most `slots` at once, until cancelled.

        When cancelled it takes no more rings, gives the calls that run a moment, and cancels them: work that
        is to outlast its bell runs in a task of its own. Any other return, and any exception, means that the
        engine broke: serve again.
        """
