"""A worker: it hears bells, claims what may run, and lets go of it in every way that a process can end.

Everything that it needs of the world is injected; `bootstrap` wires the store, the engine and the pipeline.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Never

from inquest.crash import CrashPoint, reached
from inquest.domain.fence import Fence
from inquest.errors import FenceLost, Halted, NotFound, StoreUnavailable
from inquest.ports import Claimed, Claims, Engine, Ids, LeaseLine, Retention, Sweep
from inquest.runtime.delivery import DeliveryRunner
from inquest.runtime.lease import LeaseGuard, LeaseKeeper
from inquest.runtime.outage import Outage
from inquest.runtime.supervisor import Running, cancel_for_good, keep_going
from inquest.runtime.sweep import Sweeper
from inquest.telemetry import Metrics, bound, log, report_error

LET_GO_S = 5.0
"""How long letting go may take while the worker drains; after it the lease runs out by itself."""
LET_GO_PATIENCE_S = 30.0
"""How long it is tried while the database is away."""
LET_GO_AGAIN_S = 0.5
LANES_END_S = 1.0
"""How long the engine may take to say goodbye after the drain, before it is cancelled for good. Nobody misses the
goodbye: the rows of its jobs are deleted by a sweep."""

Release = Callable[[Fence], Awaitable[None]]
Act = Callable[[Claimed, LeaseGuard], Awaitable[None]]
"""Does the whole of one claim. Returns when the investigation ended, waits, or may not go on here; raises
FenceLost, Halted, StoreUnavailable, and whatever a stage raised. CancelledError passes."""


@dataclass(frozen=True)
class WorkerOptions:
    """How much one worker does at once, and how it leaves."""

    concurrency: int
    lease: timedelta
    drain_grace_s: float


@dataclass(frozen=True)
class WorkerParts:
    """What a worker is made of. `connect_lease` is called in a thread.

    `run_investigation` does the work of a claim; `conclude_failed` ends, with a report of the evidence so
    far, what was tried often enough.
    """

    claims: Claims
    engine: Engine
    connect_lease: Callable[[], LeaseLine]
    sweep: Sweep
    deliveries: DeliveryRunner
    run_investigation: Act
    conclude_failed: Act
    metrics: Metrics
    ids: Ids
    retention: Retention | None = None


class Worker:
    """One process's share of the work, for one event loop. `owner_id` is new for every worker that is made."""

    def __init__(self, options: WorkerOptions, parts: WorkerParts) -> None:
        self.owner_id = parts.ids.new()
        self._options = options
        self._claims = parts.claims
        self._engine = parts.engine
        self._deliveries = parts.deliveries
        self._run_investigation = parts.run_investigation
        self._conclude_failed = parts.conclude_failed
        self._outage = Outage(options.lease)
        self._keeper = LeaseKeeper(parts.connect_lease, options.lease, on_outage=partial(self._outage.note, "lease"))
        self._sweeper = Sweeper(parts.sweep, self._outage, parts.metrics, retention=parts.retention)
        self._slots = asyncio.Semaphore(options.concurrency)
        self._running = Running()
        self._later: asyncio.TimerHandle | None = None
        self._draining = False

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then drain: no more claims, what runs gets the grace, the rest is let go.

        Outlives restarts of the database. Raises only what nobody expected of the lease's thread.
        """
        renewing = self._keeper.start()
        lanes = {
            asyncio.ensure_future(keep_going("sweep", self._sweeper.run)),
            asyncio.ensure_future(keep_going("investigations", self._serve_investigations)),
            asyncio.ensure_future(keep_going("deliveries", self._serve_deliveries)),
        }
        stopping = asyncio.ensure_future(stop.wait())
        ends: tuple[asyncio.Future[Any], ...] = (stopping, renewing)
        log().info("worker_started", owner=self.owner_id, concurrency=self._options.concurrency)
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            await self._drain(lanes)
            await self._keeper.end(renewing)
        log().info("worker_stopped", owner=self.owner_id)

    async def _drain(self, lanes: set[asyncio.Task[Never]]) -> None:
        self._draining = True
        self._keeper.drain()
        self._deliveries.drain()
        if self._later is not None:
            self._later.cancel()
        for lane in lanes:
            lane.cancel()
        await self._running.drain(self._options.drain_grace_s, cut_s=LET_GO_S)
        await asyncio.wait(lanes, timeout=LANES_END_S)
        await cancel_for_good(lanes)

    # ---- bells

    async def _serve_investigations(self) -> None:
        await self._engine.serve("investigations", self._on_investigation, slots=self._options.concurrency)

    async def _serve_deliveries(self) -> None:
        await self._engine.serve("deliveries", self._on_delivery, slots=self._deliveries.slots)

    async def _on_investigation(self, _investigation_id: str) -> None:
        """Claim what may run next, whichever id the bell named. An engine that breaks leaves the work running."""
        if not self._draining:
            await self._running.run(self._take_next)

    async def _on_delivery(self, target_id: str) -> None:
        """Send what is due there. Without the database nothing is: the sweep rings again."""
        if self._draining:
            return
        try:
            await self._running.run(partial(self._deliveries.deliver, target_id))
        except StoreUnavailable:
            self._outage.note("delivery")

    # ---- one claim

    async def _take_next(self) -> None:
        async with self._slots:
            if self._draining:
                return
            asked_at = time.monotonic()
            take_expired = self._outage.over
            claimed = await self._claim(take_expired=take_expired)
            if claimed is None:
                if not take_expired:
                    self._look_later()
                return
            reached(CrashPoint.C06)
            guard = LeaseGuard(claimed, asked_at=asked_at, lease=self._options.lease)
            fence = guard.fence
            with bound(investigation=fence.investigation_id, workspace=claimed.identity.workspace_id):
                log().info("claimed", generation=fence.generation, attempt=fence.attempt)
                await self._hold(claimed, guard)

    def _look_later(self) -> None:
        """Claim once more when expired leases may be taken: the bell that was for one is not rung again for 5 s."""
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(self._outage.left_s, self._look_now)

    def _look_now(self) -> None:
        self._later = None
        if not self._draining:
            self._running.begin(self._take_next)

    async def _claim(self, *, take_expired: bool) -> Claimed | None:
        """Claim; a worker that is cut while it claims gives back what it got."""
        claiming = asyncio.ensure_future(
            self._claims.claim(self.owner_id, lease=self._options.lease, take_expired=take_expired)
        )
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claimed = await claiming
            if claimed is not None:
                await self._claims.release(claimed.fence)
            raise
        except StoreUnavailable:
            self._outage.note("claim")
            return None

    async def _hold(self, claimed: Claimed, guard: LeaseGuard) -> None:
        """Do the claim's work under its lease, and see to the fence whatever comes of it."""
        try:
            await self._act(claimed, guard)
        except asyncio.CancelledError:
            if not guard.lost:
                await self._let_go(guard)
                raise
            log().info("fence_lost")
        except FenceLost:
            log().info("fence_lost")
            if not guard.lost:  # by the monotonic clock only, or on the way out: it may still be ours
                await self._let_go_patiently(guard)
        except Halted:
            log().info("halted")
            await self._let_go(guard)
        except StoreUnavailable:
            self._outage.note("work")
            log().warning("work_without_database")
            await self._let_go_patiently(guard, self._claims.release_unanswered)
        except Exception as error:
            await self._charge(guard, error)
            raise
        if guard.draining and not guard.lost:
            await self._let_go(guard)

    async def _act(self, claimed: Claimed, guard: LeaseGuard) -> None:
        act = self._conclude_failed if claimed.exhausted else self._run_investigation
        acting = asyncio.ensure_future(_awaited(act, claimed, guard))
        with self._keeper.holding(guard, acting.cancel):
            try:
                await asyncio.shield(acting)
            except asyncio.CancelledError:
                acting.cancel()
                await asyncio.wait({acting})
                raise

    async def _charge(self, guard: LeaseGuard, error: Exception) -> None:
        """Report what a stage raised, and end the attempt. The journal keeps what was done."""
        fence = guard.fence
        log().error("stage_error", error=type(error).__name__, attempt=fence.attempt)
        report_error(error, tags={"investigation": fence.investigation_id, "attempt": str(fence.attempt)})
        try:
            not_before = await self._claims.fail_attempt(fence)
        except (FenceLost, NotFound):
            log().info("fence_lost")
        except StoreUnavailable:
            log().warning("attempt_not_charged")
        else:
            log().info("attempt_failed", not_before=not_before.isoformat())

    async def _let_go(self, guard: LeaseGuard) -> None:
        """Release the lease, or leave it to run out when the database is away."""
        if self._draining:
            reached(CrashPoint.C24)
        if not await self._released(guard, self._claims.release):
            log().warning("lease_left_to_run_out")

    async def _released(self, guard: LeaseGuard, release: Release) -> bool:
        """Release the lease and ring, in one transaction; False when the database is away."""
        try:
            async with asyncio.timeout(LET_GO_S):
                await release(guard.fence)
        except (FenceLost, NotFound):
            return True  # it ended, waits, or has another owner
        except (StoreUnavailable, TimeoutError):
            return False
        log().info("released")
        return True

    async def _let_go_patiently(self, guard: LeaseGuard, release: Release | None = None) -> None:
        """Release once the database is back, so that its restart costs no attempt."""
        gives_up_at = time.monotonic() + LET_GO_PATIENCE_S
        while not await self._released(guard, release or self._claims.release):
            if self._draining or time.monotonic() >= gives_up_at:
                log().warning("lease_left_to_run_out")
                return
            await asyncio.sleep(LET_GO_AGAIN_S)


async def _awaited(act: Act, claimed: Claimed, guard: LeaseGuard) -> None:
    await act(claimed, guard)


async def run_forever(worker: Worker) -> None:
    """Run `worker` until SIGTERM or SIGINT, then drain it. The process ends with exit code 0 after it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await worker.run(stop)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
