from __future__ import annotations

import asyncio
import heapq
import itertools
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from bench.http11 import Answer
from bench.pace import Lane, Pace, Sent, send, together


class VirtualClock:
    """Time passes only while everybody sleeps, and then at once to the next who wakes."""

    def __init__(self) -> None:
        self._now = 100.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken.wait()

    async def tick(self) -> None:
        while True:
            for _ in range(20):
                await asyncio.sleep(0)
            if self._sleepers:
                self._now, _, woken = heapq.heappop(self._sleepers)
                woken.set()


@dataclass
class Server:
    """Answers each post after `takes` seconds of the clock, with the status of its number; None: it hangs up."""

    clock: VirtualClock
    takes: float = 0.0
    status: Callable[[int], int | None] = lambda _: 202
    opened: int = 0
    asked: list[tuple[float, int]] = field(default_factory=list)

    async def open(self) -> Lane:
        self.opened += 1
        return ServedLane(self)


@dataclass
class ServedLane:
    server: Server

    async def ask(self, request: bytes) -> Answer:
        number = int(request)
        self.server.asked.append((self.server.clock.now(), number))
        await self.server.clock.sleep(self.server.takes)
        status = self.server.status(number)
        if status is None:
            raise ConnectionResetError
        return Answer(status, json.dumps({"receipt_id": f"r{number}"}).encode())

    def close(self) -> None:
        return None


@pytest.fixture
async def clock() -> AsyncIterator[VirtualClock]:
    one = VirtualClock()
    ticking = asyncio.create_task(one.tick())
    yield one
    ticking.cancel()


async def sent(pace: Pace, server: Server) -> Sent:
    return await send(pace, lambda number: b"%d" % number, server.open, server.clock)


async def test_a_post_that_waits_for_a_lane_counts_from_the_moment_it_was_due(clock: VirtualClock) -> None:
    found = await sent(Pace(lanes=1, seconds=0.4, most=9, per_second=10), Server(clock, takes=0.25))

    assert [round(one) for one in found.latencies_ms] == [250, 400, 550, 700]
    assert found.sent_late == 3


async def test_an_open_loop_sends_at_its_rate_however_long_answers_take(clock: VirtualClock) -> None:
    server = Server(clock, takes=0.35)

    found = await sent(Pace(lanes=8, seconds=1.0, most=99, per_second=10), server)

    assert [(round(at - 100, 3), number) for at, number in server.asked] == [(n / 10, n) for n in range(10)]
    assert [round(one) for one in found.latencies_ms] == [350] * 10
    assert (found.sent_late, found.seconds, found.accepted) == (0, 1.0, 10)


async def test_what_an_open_loop_achieves_is_what_is_answered_while_posts_are_due(clock: VirtualClock) -> None:
    found = await sent(Pace(lanes=8, seconds=1.0, most=99, per_second=10), Server(clock, takes=0.35))

    assert (found.accepted, found.in_window) == (10, 7)  # those due at 0.7, 0.8 and 0.9 s came after 1 s


async def test_what_is_due_long_after_the_window_is_never_sent_and_its_wait_counts(clock: VirtualClock) -> None:
    server = Server(clock, takes=4.0)

    found = await sent(Pace(lanes=1, seconds=0.5, most=99, per_second=10), server)

    assert [round(at - 100, 3) for at, _ in server.asked] == [0.0, 4.0]  # the next would be sent at 8 s
    assert (found.accepted, found.in_window, found.never_sent) == (2, 0, 3)
    assert [round(one) for one in found.latencies_ms] == [4_000, 7_900, 7_800, 7_700, 7_600]


async def test_a_closed_loop_ends_with_its_last_answer_and_all_of_them_count(clock: VirtualClock) -> None:
    found = await sent(Pace(lanes=2, seconds=1.0, most=99), Server(clock, takes=0.4))

    assert found.in_window == found.accepted == 6


async def test_an_open_loop_never_has_more_posts_waiting_than_lanes(clock: VirtualClock) -> None:
    server = Server(clock, takes=3)

    await sent(Pace(lanes=3, seconds=1.0, most=99, per_second=10), server)

    assert [at for at, _ in server.asked[:4]] == [100.0, 100.1, 100.2, 103.0]


async def test_a_closed_loop_sends_the_next_post_with_the_answer_and_ends_with_its_time(clock: VirtualClock) -> None:
    found = await sent(Pace(lanes=2, seconds=1.0, most=99), Server(clock, takes=0.4))

    assert [round(one) for one in found.latencies_ms] == [400] * 6
    assert found.seconds == pytest.approx(1.2)


async def test_no_pace_sends_more_posts_than_allowed(clock: VirtualClock) -> None:
    assert (await sent(Pace(lanes=2, seconds=9.0, most=3), Server(clock, takes=0.1))).accepted == 3
    assert (await sent(Pace(lanes=2, seconds=9.0, most=3, per_second=10), Server(clock))).accepted == 3


async def test_only_answers_of_202_have_a_latency_and_a_receipt(clock: VirtualClock) -> None:
    status = {0: 202, 1: 503, 2: None, 3: 202, 4: 503}
    server = Server(clock, takes=0.1, status=status.__getitem__)

    found = await sent(Pace(lanes=1, seconds=9.0, most=5), server)

    assert found.statuses == {"202": 2, "503": 2}
    assert (found.accepted, found.others, found.unanswered) == (2, 3, 1)
    assert found.receipts == ("r0", "r3")
    assert len(found.latencies_ms) == 2


async def test_a_lane_whose_connection_broke_goes_on_over_a_new_one(clock: VirtualClock) -> None:
    server = Server(clock, takes=0.1, status=lambda number: None if number == 0 else 202)

    found = await sent(Pace(lanes=1, seconds=9.0, most=3), server)

    assert (server.opened, found.accepted) == (2, 2)


def test_measurements_of_one_thing_add_up() -> None:
    one = Sent(
        latencies_ms=(1.0,),
        statuses={"202": 1, "503": 2},
        receipts=("a",),
        unanswered=1,
        sent_late=3,
        never_sent=2,
        in_window=1,
        seconds=2,
    )
    two = Sent(latencies_ms=(4.0,), statuses={"202": 1}, receipts=("b",), seconds=3)

    assert together([one, two]) == Sent(
        latencies_ms=(1.0, 4.0),
        statuses={"202": 2, "503": 2},
        receipts=("a", "b"),
        unanswered=1,
        sent_late=3,
        never_sent=2,
        in_window=1,
        seconds=5,
    )
