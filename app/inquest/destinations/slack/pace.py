"""How often one channel is written to: Slack takes about one message a second, and says when it wants silence."""

from __future__ import annotations

import asyncio
import time

from inquest.destinations.shared.quiet import Quiet
from inquest.domain.delivery import DeliveryFailed

BETWEEN_S = 1.05
MAX_WAIT_S = 5.0
"""A longer wait frees the sender; the runtime sends it later."""


class Pace:
    """The turns of one channel in this process. Several processes share only Slack's own refusals."""

    def __init__(self) -> None:
        self._free_at = 0.0
        self._quiet = Quiet()

    async def turn(self, *, must_end_at: float) -> DeliveryFailed | None:
        """Wait for a turn; give a refusal, at once, when it would come too late."""
        now = time.monotonic()
        at = max(now, self._free_at, self._quiet.until)
        if at - now > MAX_WAIT_S or at >= must_end_at:
            wait_ms = int((at - now) * 1_000)
            return DeliveryFailed(reason="the channel's turn is not yet", retry=True, retry_after_ms=wait_ms)
        self._free_at = at + BETWEEN_S
        await asyncio.sleep(at - now)
        return None

    def note(self, failed: DeliveryFailed) -> None:
        """Keep silent as long as Slack asks."""
        self._quiet.note(failed)
