"""Leases as their holder sees them: renewed by a thread of their own, judged by the monotonic clock.

The thread and its connection outlive a blocked event loop and a busy pool, but not for long: a loop that has
not ticked for STALLED_LOOP_S does no work, and its leases are left to run out.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import assert_never

from inquest.crash import CrashPoint, reached
from inquest.domain.fence import Fence
from inquest.errors import StoreUnavailable
from inquest.ports import Claimed, LeaseLine, Renewal
from inquest.runtime.clock import AnchoredClock
from inquest.telemetry import log

STALLED_LOOP_S = 10.0
TICK_S = 0.25
LISTEN_S = 0.2
"""One wait for word of moved fences, at most; then renewals that are due come first."""
RECONNECT_S = 0.5
THREAD_ENDS_S = 1.0
"""How long the thread may take to end, and once more after its connection was broken."""
RENEWALS_PER_LEASE = 3


class LeaseGuard:
    """One claim, while it is held. `fence` is the right to act; `clock` is the database's clock.

    Made as soon as the claim is answered.
    """

    def __init__(self, claimed: Claimed, *, asked_at: float, lease: timedelta) -> None:
        """`asked_at` is the monotonic time before the claim was sent: the lease ends no later than we think.

        The clock is read when the answer is there, so it is never ahead, by however long the claim waited for a
        lock, and behind by the way of the answer only: no window ends in the future. No lease hangs on it.
        """
        self.fence: Fence = claimed.fence
        self.clock = AnchoredClock(database_now=claimed.now, read_at=time.monotonic())
        self._lease_s = lease.total_seconds()
        self._renewed_at = asked_at
        self._lost = False
        self._draining = False

    @property
    def lost(self) -> bool:
        """Say whether another owner, or a write from no owner, has taken the fence."""
        return self._lost

    @property
    def draining(self) -> bool:
        """Say whether this worker is on its way out."""
        return self._draining

    def alive(self) -> bool:
        """Say whether the lease still runs, by the monotonic clock. True again after a late renewal."""
        return not self._lost and time.monotonic() < self._renewed_at + self._lease_s

    def may_act(self) -> bool:
        """Say whether anything may be sent now: the lease runs, and this worker is not on its way out."""
        return self.alive() and not self._draining

    def renewal_due(self) -> bool:
        """Say whether a third of the lease is over."""
        return time.monotonic() >= self._renewed_at + self._lease_s / RENEWALS_PER_LEASE

    def renewed(self, asked_at: float) -> None:
        """Take note of a renewal that was asked for at `asked_at`, monotonic."""
        self._renewed_at = asked_at

    def lose(self) -> None:
        """Take note that the fence is gone."""
        self._lost = True

    def drain(self) -> None:
        """Let what runs end, and nothing new begin."""
        self._draining = True


class LeaseKeeper:
    """Renews what is held, every third of a lease, from a thread; tells the event loop what was lost.

    `connect` is called in the thread. `on_outage` is called in the event loop each time the database does
    not answer.
    """

    def __init__(self, connect: Callable[[], LeaseLine], lease: timedelta, *, on_outage: Callable[[], None]) -> None:
        self._connect = connect
        self._lease = lease
        self._listen_s = min(LISTEN_S, lease.total_seconds() / RENEWALS_PER_LEASE / 2)
        self._on_outage = on_outage
        self._held: dict[LeaseGuard, Callable[[], object]] = {}
        self._ticked = time.monotonic()
        self._stop = threading.Event()
        self._draining = False
        self._line: LeaseLine | None = None
        self._asked_at: float | None = None

    def start(self) -> asyncio.Future[None]:
        """Start the thread, in the running event loop. Gives what ends when the thread does.

        Only `stop` ends it; an exception there is one that nobody expected.
        """
        self._loop = asyncio.get_running_loop()
        self._ticking = self._loop.create_task(self._tick())
        executor = ThreadPoolExecutor(1, thread_name_prefix="inquest-lease")
        thread = self._loop.run_in_executor(executor, self._run)
        executor.shutdown(wait=False)
        return thread

    def stop(self) -> None:
        """Let the thread end, and give its connection back. What is still held is renewed no more."""
        self._stop.set()
        self._ticking.cancel()

    async def end(self, thread: asyncio.Future[None]) -> None:
        """Stop, and wait for `thread`, whose connection is broken when it does not end by itself.

        Raises what nobody expected of the thread.
        """
        self.stop()
        for _ in range(2):
            await asyncio.wait({thread}, timeout=THREAD_ENDS_S)
            if thread.done():
                return thread.result()
            self._abort()
        log().warning("lease_thread_abandoned")
        return None

    @contextmanager
    def holding(self, guard: LeaseGuard, on_lost: Callable[[], object]) -> Iterator[None]:
        """Renew `guard` inside the `with`. `on_lost` is called once, in the event loop, when its fence is gone."""
        if self._draining:  # it was being claimed when the drain began
            guard.drain()
        self._held[guard] = on_lost
        try:
            yield
        finally:
            self._held.pop(guard, None)

    def drain(self) -> None:
        """Tell every guard, and those to come, that this worker is on its way out; they are renewed until let go."""
        self._draining = True
        for guard in self._held:
            guard.drain()

    async def _tick(self) -> None:
        while True:
            self._ticked = now = time.monotonic()
            asked_at = self._asked_at
            if asked_at is not None and now - asked_at > self._lease.total_seconds():
                self._abort()  # the server lives and says nothing, as when its disk hangs: no time limit of ours ends it
            await asyncio.sleep(TICK_S)

    def _abort(self) -> None:
        line = self._line
        if line is not None:
            line.abort()

    def _lose(self, guard: LeaseGuard) -> None:
        on_lost = self._held.pop(guard, None)
        if on_lost is not None:  # else it was let go while it was renewed
            guard.lose()
            on_lost()

    # ---- in the thread

    def _run(self) -> None:
        while not self._stopped():
            try:
                self._keep()
            except StoreUnavailable:
                self._tell(self._on_outage)
                self._stop.wait(RECONNECT_S)

    def _keep(self) -> None:
        """Renew over one connection until stopped. Raises StoreUnavailable when it breaks."""
        self._line = line = self._connect()
        try:
            self._renew(line, everything=True)  # word may have gone past while nobody listened
            while not self._stopped():
                moved = line.moved(self._listen_s)
                self._renew(line, moved)
        finally:
            self._line = None
            line.close()

    def _renew(self, line: LeaseLine, moved: frozenset[str] = frozenset(), *, everything: bool = False) -> None:
        if time.monotonic() - self._ticked > STALLED_LOOP_S:
            return
        due = [
            guard
            for guard in tuple(self._held)
            if everything or guard.renewal_due() or guard.fence.investigation_id in moved
        ]
        if not due:
            return
        self._asked_at = asked_at = time.monotonic()
        try:
            answers = line.renew([guard.fence for guard in due], self._lease)
        finally:
            self._asked_at = None
        reached(CrashPoint.C23)
        for guard in due:
            match answers[guard.fence]:
                case Renewal.RENEWED:
                    guard.renewed(asked_at)
                case Renewal.LOST:
                    self._tell(partial(self._lose, guard))
                case Renewal.LOCKED:  # it stays due, and is asked for again after the next wait for word
                    pass
                case unknown:
                    assert_never(unknown)

    def _stopped(self) -> bool:
        return self._stop.is_set() or self._loop.is_closed()

    def _tell(self, what: Callable[[], None]) -> None:
        if not self._stopped():
            self._loop.call_soon_threadsafe(what)
