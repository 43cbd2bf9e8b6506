"""How long a place asks to be left alone: what it tells one sender holds for all of this process."""

from __future__ import annotations

import time

from inquest.domain.delivery import DeliveryFailed
from inquest.domain.failure import MAX_RETRY_AFTER_MS


class Quiet:
    """The silence that one place asks for. Several processes share only its own refusals."""

    def __init__(self) -> None:
        self.until = 0.0
        """A moment of the monotonic clock; nothing is sent before it."""

    def note(self, failed: DeliveryFailed) -> None:
        """Keep silent as long as a refusal asks, where it does."""
        if failed.retry_after_ms is not None:
            wait_s = min(failed.retry_after_ms, MAX_RETRY_AFTER_MS) / 1_000
            self.until = max(self.until, time.monotonic() + wait_s)

    def refusal(self) -> DeliveryFailed | None:
        """Give a refusal of our own while it lasts, at once and with nothing sent."""
        left_s = self.until - time.monotonic()
        if left_s <= 0:
            return None
        return DeliveryFailed(
            reason="the place has asked to be left alone", retry=True, retry_after_ms=int(left_s * 1_000) + 1
        )
