"""Leases as their holder sees them. The line is scripted: what is tested is the thread and the guard."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from inquest.domain.fence import Fence
from inquest.domain.investigation import Identity
from inquest.errors import StoreUnavailable
from inquest.ports import Renewal
from inquest.runtime import lease as leases
from inquest.runtime.lease import LeaseGuard, LeaseKeeper
from inquest.store.lease import Claimed
from tests.waiting import PATIENCE_S, until

LONG = timedelta(minutes=5)
SHORT = timedelta(seconds=0.3)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class ScriptedLine:
    """A line that renews what is not in `lost`, and hears what is put into `said`. Made once a connection."""

    def __init__(self) -> None:
        self.renewals: list[str] = []
        self.lost: set[str] = set()
        self.locked: set[str] = set()
        self.passed_over = 0
        self.hangs = False
        self.aborted = threading.Event()
        self.said: set[str] = set()
        self.down = threading.Event()
        self.connections = 0
        self.broken: Exception | None = None

    def connect(self) -> "ScriptedLine":
        if self.down.is_set():
            raise StoreUnavailable("no connection")
        self.connections += 1
        return self

    def renew(self, fences: Sequence[Fence], lease: timedelta) -> Mapping[Fence, Renewal]:
        if self.hangs:
            self.aborted.wait()
            self.aborted.clear()
            raise StoreUnavailable("broken")
        if self.broken is not None:
            raise self.broken
        if self.down.is_set():
            raise StoreUnavailable("no answer")
        return {fence: self._renew(fence.investigation_id) for fence in fences}

    def _renew(self, name: str) -> Renewal:
        if name in self.lost:
            return Renewal.LOST
        if name in self.locked:
            self.passed_over += 1
            return Renewal.LOCKED
        self.renewals.append(name)
        return Renewal.RENEWED

    def moved(self, timeout_s: float) -> frozenset[str]:
        if self.down.wait(0.01):
            raise StoreUnavailable("no answer")
        heard, self.said = self.said, set()
        return frozenset(heard)

    def abort(self) -> None:
        self.aborted.set()

    def close(self) -> None:
        return None


def guard_of(name: str = "inv-1", lease: timedelta = LONG, *, asked_at: float | None = None) -> LeaseGuard:
    fence = Fence(investigation_id=name, owner_id="owner-1", generation=1, attempt=1)
    identity = Identity(workspace_id="acme", task_id="e", run_id=name, session_id="s")
    claimed = Claimed(
        fence=fence, identity=identity, version=0, exhausted=False, started_at=NOON, now=NOON, lease_expires_at=NOON
    )
    return LeaseGuard(claimed, asked_at=time.monotonic() if asked_at is None else asked_at, lease=lease)


@pytest.fixture
def line() -> ScriptedLine:
    return ScriptedLine()


KeeperMaker = Callable[[timedelta], LeaseKeeper]


@pytest.fixture
async def keeper(line: ScriptedLine) -> AsyncIterator[KeeperMaker]:
    """Give a function that starts a keeper over the scripted line."""
    made: list[tuple[LeaseKeeper, asyncio.Future[None]]] = []
    outages: list[None] = []

    def start(lease: timedelta) -> LeaseKeeper:
        keeper = LeaseKeeper(line.connect, lease, on_outage=lambda: outages.append(None))
        made.append((keeper, keeper.start()))
        return keeper

    yield start
    for keeper, thread in made:
        keeper.stop()
        with suppress(ZeroDivisionError):
            await thread


def test_a_lease_is_alive_until_its_time_by_the_monotonic_clock() -> None:
    assert guard_of(asked_at=time.monotonic() - 299).alive()
    expired = guard_of(asked_at=time.monotonic() - 301)
    assert not expired.alive()
    expired.renewed(time.monotonic())
    assert expired.alive(), "a late renewal brings it back: nobody took it"


def test_nothing_new_may_begin_while_the_worker_drains() -> None:
    guard = guard_of()
    assert guard.may_act()
    guard.drain()
    assert (guard.alive(), guard.may_act()) == (True, False)


async def test_a_claim_that_came_back_after_the_drain_began_begins_nothing(keeper: KeeperMaker) -> None:
    keeping, guard = keeper(LONG), guard_of()
    keeping.drain()

    with keeping.holding(guard, lambda: None):
        assert guard.draining
        assert not guard.may_act()


def test_a_lost_fence_is_dead_whatever_the_clock_says() -> None:
    guard = guard_of()
    guard.lose()
    guard.renewed(time.monotonic())
    assert not guard.alive()


def test_its_clock_is_the_databases_and_never_ahead_of_it_however_long_the_claim_waited() -> None:
    waited = guard_of(asked_at=time.monotonic() - 3_600)
    before = waited.clock.monotonic()

    passed = waited.clock.now() - NOON

    assert timedelta(0) <= passed <= timedelta(seconds=waited.clock.monotonic() - before + 60)
    assert not waited.alive(), "the lease is reckoned from before the claim was sent"


async def test_what_is_held_is_renewed_again_and_again(keeper: KeeperMaker, line: ScriptedLine) -> None:
    guard = guard_of(lease=SHORT)
    with keeper(SHORT).holding(guard, lambda: None):
        await until(lambda: len(line.renewals) >= 5)
        assert guard.alive()


async def test_what_is_no_longer_held_is_renewed_no_more(keeper: KeeperMaker, line: ScriptedLine) -> None:
    held, left = guard_of("held", SHORT), guard_of("left", SHORT)
    making = keeper(SHORT)
    with making.holding(held, lambda: None):
        with making.holding(left, lambda: None):
            await until(lambda: "left" in line.renewals)
        await until(lambda: not left.alive())
        assert held.alive()


async def test_what_somebody_holds_is_asked_for_again_and_is_no_lost_fence(
    keeper: KeeperMaker, line: ScriptedLine
) -> None:
    guard = guard_of(lease=SHORT)
    line.locked.add("inv-1")
    with keeper(SHORT).holding(guard, lambda: None):
        await until(lambda: line.passed_over >= 3)
        await until(lambda: not guard.alive())
        line.locked.clear()
        await until(guard.alive)
    assert not guard.lost


async def test_a_lost_fence_is_told_once_in_the_event_loop(keeper: KeeperMaker, line: ScriptedLine) -> None:
    guard = guard_of(lease=SHORT)
    told: list[str] = []
    line.lost.add("inv-1")
    with keeper(SHORT).holding(guard, lambda: told.append(threading.current_thread().name)):
        await until(lambda: told)
        assert guard.lost
    assert told == [threading.main_thread().name]


async def test_word_of_a_moved_fence_is_looked_into_at_once(keeper: KeeperMaker, line: ScriptedLine) -> None:
    told: list[str] = []
    making = keeper(LONG)
    await until(lambda: line.connections)
    first = making.holding(guard_of("inv-1"), lambda: told.append("inv-1"))
    with first, making.holding(guard_of("inv-2"), lambda: told.append("inv-2")):
        line.lost.update({"inv-1", "inv-2"})
        line.said = {"inv-1"}
        await until(lambda: told)
        assert told == ["inv-1"], "the other's renewal is not due for minutes"


async def test_word_about_a_fence_that_holds_costs_one_renewal_and_nothing_else(
    keeper: KeeperMaker, line: ScriptedLine
) -> None:
    told: list[str] = []
    making = keeper(LONG)
    await until(lambda: line.connections)
    with making.holding(guard_of(), lambda: told.append("inv-1")):
        line.said = {"inv-1", "another"}
        await until(lambda: line.renewals == ["inv-1"])
    assert told == []


async def test_a_lost_connection_is_made_anew_and_everything_renewed(line: ScriptedLine) -> None:
    outages: list[str] = []
    keeper = LeaseKeeper(line.connect, LONG, on_outage=lambda: outages.append(threading.current_thread().name))
    thread = keeper.start()
    with keeper.holding(guard_of(), lambda: None):
        await until(lambda: line.connections == 1)
        line.down.set()
        await until(lambda: outages)
        line.down.clear()
        await until(lambda: line.connections == 2 and line.renewals == ["inv-1"])
    keeper.stop()
    await thread
    assert set(outages) == {threading.main_thread().name}


def hang_while(condition: Callable[[], bool]) -> None:
    """Keep the event loop from ticking for as long as `condition` holds, up to the patience of a test."""
    ends = time.monotonic() + PATIENCE_S
    while condition() and time.monotonic() < ends:
        pass


async def test_an_event_loop_that_does_not_tick_gets_no_renewals(
    keeper: KeeperMaker, line: ScriptedLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "STALLED_LOOP_S", 0.2)
    guard = guard_of(lease=SHORT)
    with keeper(SHORT).holding(guard, lambda: None):
        await until(lambda: len(line.renewals) >= 3)
        hang_while(guard.alive)
        assert not guard.alive()
        await until(guard.alive)


async def test_an_end_of_the_thread_that_nobody_expected_is_known(line: ScriptedLine) -> None:
    keeper = LeaseKeeper(line.connect, SHORT, on_outage=lambda: None)
    thread = keeper.start()
    line.broken = ZeroDivisionError()
    with keeper.holding(guard_of(lease=SHORT), lambda: None), pytest.raises(ZeroDivisionError):
        await thread
    keeper.stop()


async def test_a_renewal_that_is_never_answered_is_broken_off_after_a_lease(line: ScriptedLine) -> None:
    outages: list[None] = []
    keeper = LeaseKeeper(line.connect, SHORT, on_outage=lambda: outages.append(None))
    thread = keeper.start()
    line.hangs = True
    with keeper.holding(guard_of(lease=SHORT), lambda: None):
        await until(lambda: outages)
        line.hangs = False
        await until(lambda: line.renewals)
    await keeper.end(thread)


async def test_a_thread_that_hangs_ends_with_its_worker(line: ScriptedLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "THREAD_ENDS_S", 0.05)
    keeper = LeaseKeeper(line.connect, LONG, on_outage=lambda: None)
    thread = keeper.start()
    line.hangs = True
    with keeper.holding(guard_of(), lambda: None):
        line.said = {"inv-1"}
        await until(lambda: keeper._asked_at is not None)
        await keeper.end(thread)
    await until(thread.done)
