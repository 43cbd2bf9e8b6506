"""Retention, as the sweep runs it: once an hour one worker removes what is old, a bounded batch at each step."""

from __future__ import annotations

import time
from collections.abc import Callable

from inquest.ports import Removed, Retention
from inquest.telemetry import Metrics, log

ASK_EVERY_S = 60.0
"""How often a worker asks whether a pass is due; the store gives it to one of them."""


class Retaining:
    """One worker's part of it. A pass that its worker did not finish is finished by the next one, an hour later."""

    def __init__(self, retention: Retention, metrics: Metrics, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._retention = retention
        self._metrics = metrics
        self._clock = clock
        self._asked_at = float("-inf")
        self._removed: Removed | None = None
        """Of the pass that is under way here."""

    async def step(self) -> None:
        """Begin a pass when one is due, or go on with it; say what it removed once nothing is left."""
        if self._removed is None:
            if self._clock() - self._asked_at < ASK_EVERY_S:
                return
            self._asked_at = self._clock()
            if not await self._retention.begin():
                return
            self._removed = Removed()
        found = await self._retention.remove()
        self._removed = self._removed.and_(found)
        for kind, count in found.model_dump().items():
            self._metrics.removed.labels(kind).inc(count)
        if found == Removed():
            log().info("retention_removed", **self._removed.model_dump())
            self._removed = None
