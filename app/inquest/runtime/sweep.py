"""The sweep: once a second every worker looks for what time has changed, and rings for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from inquest.errors import StoreUnavailable
from inquest.ports import Retention, Sweep
from inquest.runtime.outage import Outage
from inquest.runtime.retention import Retaining
from inquest.telemetry import Metrics, log, report_error

SWEEP_EVERY_S = 1.0
PURGE_EVERY_S = 5.0
CLEAN_EVERY_S = 30.0
WATCHDOG_SILENCE = timedelta(hours=5)
"""Above the senders' repeat interval, as for a firing member: Alertmanager repeats every 4 h unless told otherwise."""

Look = Callable[[], Awaitable[None]]


@dataclass
class _Step:
    """One look, how often it is due, and the monotonic time at which it was last begun."""

    name: str
    look: Look
    every_s: float
    began: float = float("-inf")


class Sweeper:
    """Runs the steps of a sweep, one after the other. A step that fails costs its own turn only."""

    def __init__(
        self,
        sweep: Sweep,
        outage: Outage,
        metrics: Metrics,
        *,
        retention: Retention | None = None,
        watchdog_silence: timedelta = WATCHDOG_SILENCE,
    ) -> None:
        self._sweep = sweep
        self._outage = outage
        self._metrics = metrics
        self._watchdog_silence = watchdog_silence
        self._steps = (
            _Step("investigations", self._ring_investigations, SWEEP_EVERY_S),
            _Step("deliveries", _counted(sweep.ring_deliveries), SWEEP_EVERY_S),
            _Step("broken", self._set_aside_broken, SWEEP_EVERY_S),
            _Step("expired", self._expire_deferred, SWEEP_EVERY_S),
            _Step("deferred", _counted(sweep.admit_deferred), SWEEP_EVERY_S),
            _Step("interrupts", self._expire_interrupts, SWEEP_EVERY_S),
            _Step("episodes", _counted(sweep.settle_episodes), SWEEP_EVERY_S),
            _Step("deleted", _counted(sweep.purge_deleted), PURGE_EVERY_S),
            _Step("watchdogs", self._watch, CLEAN_EVERY_S),
            _Step("dead_jobs", _counted(sweep.delete_dead_jobs), CLEAN_EVERY_S),
            *([] if retention is None else [_Step("retention", Retaining(retention, metrics).step, SWEEP_EVERY_S)]),
        )

    async def run(self) -> None:
        """Sweep at once, and then every second, until cancelled."""
        while True:
            await self.sweep_once()
            await asyncio.sleep(SWEEP_EVERY_S)

    async def sweep_once(self) -> None:
        """Take every step that is due."""
        answered = True
        for step in self._steps:
            now = time.monotonic()
            if now - step.began >= step.every_s * 0.9:  # not a whole second later for a millisecond
                step.began = now
                answered &= await self._take(step)
        if answered:
            self._outage.answered()

    async def _take(self, step: _Step) -> bool:
        """Take one step; False when the database did not answer."""
        (error,) = await asyncio.gather(step.look(), return_exceptions=True)
        if isinstance(error, StoreUnavailable):
            self._outage.note("sweep")
            return False
        if error is not None:
            log().error("sweep_failed", step=step.name, error=type(error).__name__)
            report_error(error, tags={"sweep": step.name})
        return True

    async def _ring_investigations(self) -> None:
        await self._sweep.ring_investigations(take_expired=self._outage.over)

    async def _set_aside_broken(self) -> None:
        broken = await self._sweep.set_aside_broken(take_expired=self._outage.over)
        if broken:
            log().error("investigations_set_aside", count=broken)
            self._metrics.investigations.labels("failed", "").inc(broken)

    async def _expire_deferred(self) -> None:
        expired = await self._sweep.expire_deferred()
        self._metrics.investigations.labels("cancelled", "expired").inc(expired)

    async def _expire_interrupts(self) -> None:
        self._metrics.questions.labels("expired").inc(await self._sweep.expire_interrupts())

    async def _watch(self) -> None:
        silent = await self._sweep.silent_watchdogs(self._watchdog_silence)
        for intake, missing in silent.items():
            self._metrics.watchdog_missing.labels(intake).set(int(missing))


def _counted(act: Callable[[], Awaitable[int]]) -> Look:
    async def look() -> None:
        await act()

    return look
