"""When posts are sent, and what is counted of their answers.

Open loop: each post has a moment at which it is due, whatever became of those before, and its latency counts
from that moment. It is bounded: at most `lanes` posts wait for an answer, and one that is due while all lanes
wait is sent late, its latency growing. What is achieved are the 202s that came while posts were due: what is answered
later was not kept up with. Closed loop: each lane sends the next post when it has its answer.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol

from bench.http11 import Answer
from inquest.domain.value import Value

ACCEPTED = 202
ANSWER_S = 20.0
"""How long an answer is waited for; past it the post counts as unanswered. Senders give up after 10 s."""
OVERTIME_S = 5.0
"""An open loop sends nothing so long after its window: what is due still is never sent."""
LATE_S = 0.005
"""A post that is sent so long after it was due counts as sent late."""


class Pace(Value):
    """How many lanes, and how often. Open loop with `per_second`; else closed. `most` posts at most."""

    lanes: int
    seconds: float
    most: int
    per_second: float | None = None
    overtime_s: float = OVERTIME_S

    @property
    def posts(self) -> int:
        """Give how many posts may be sent."""
        return self.most if self.per_second is None else min(self.most, round(self.per_second * self.seconds))


class Sent(Value):
    """What came of the posts of one measurement.

    Latencies are those of posts that were answered 202, and of those never sent, which had waited so long when they
    were given up: left out, they would make the figures of a server that cannot keep up look better.
    """

    latencies_ms: tuple[float, ...] = ()
    statuses: dict[str, int] = {}
    receipts: tuple[str, ...] = ()
    unanswered: int = 0
    sent_late: int = 0
    never_sent: int = 0
    in_window: int = 0
    """Those of the 202s that came within `seconds`."""
    seconds: float = 0.0
    """Open loop: for how long posts were due. Closed: from the first post to the last answer."""

    @property
    def accepted(self) -> int:
        """Give how many were answered 202."""
        return self.statuses.get(str(ACCEPTED), 0)

    @property
    def others(self) -> int:
        """Give how many were answered otherwise, or not at all."""
        return sum(self.statuses.values()) - self.accepted + self.unanswered


class Lane(Protocol):
    """What posts go through, one at a time."""

    async def ask(self, request: bytes) -> Answer:
        """Send and wait for the answer. Raises ConnectionError."""

    def close(self) -> None:
        """Close it."""


class Clock(Protocol):
    """The time of a measurement, in seconds."""

    def now(self) -> float:
        """Give the seconds of a clock that never jumps."""

    async def sleep(self, seconds: float) -> None:
        """Sleep so long."""


class RealClock:
    """The monotonic clock of this process."""

    def now(self) -> float:
        """Give its seconds."""
        return time.perf_counter()

    async def sleep(self, seconds: float) -> None:
        """Sleep in the event loop."""
        await asyncio.sleep(seconds)


class _Ledger:
    """What has been counted so far."""

    def __init__(self) -> None:
        self.latencies_ms: list[float] = []
        self.statuses = Counter[str]()
        self.receipts: list[bytes] = []
        self.unanswered = 0
        self.sent_late = 0
        self.never_sent = 0
        self.in_window = 0

    def given_up(self, seconds: float) -> None:
        self.never_sent += 1
        self.latencies_ms.append(seconds * 1000)

    def answered(self, answer: Answer, seconds: float, *, in_window: bool) -> None:
        self.statuses[str(answer.status)] += 1
        if answer.status == ACCEPTED:
            self.in_window += in_window
            self.latencies_ms.append(seconds * 1000)
            self.receipts.append(answer.body)  # read when all is over: reading costs time


async def send(
    pace: Pace, request: Callable[[int], bytes], open_lane: Callable[[], Awaitable[Lane]], clock: Clock
) -> Sent:
    """Send posts 0, 1, .. at `pace`, and give what came of them once the last one has its answer.

    Raises OSError when no connection can be opened before the first post.
    """
    lanes = [await open_lane() for _ in range(pace.lanes)]
    ledger, numbers, start = _Ledger(), iter(range(pace.posts)), clock.now()
    await asyncio.gather(*(_run(lane, pace, numbers, start, ledger, request, open_lane, clock) for lane in lanes))
    seconds = clock.now() - start if pace.per_second is None else pace.posts / pace.per_second
    return Sent(
        latencies_ms=tuple(ledger.latencies_ms),
        statuses=dict(ledger.statuses),
        receipts=tuple(json.loads(body)["receipt_id"] for body in ledger.receipts),
        unanswered=ledger.unanswered,
        sent_late=ledger.sent_late,
        never_sent=ledger.never_sent,
        in_window=ledger.in_window,
        seconds=seconds,
    )


async def _run(
    lane: Lane,
    pace: Pace,
    numbers: Iterator[int],
    start: float,
    ledger: _Ledger,
    request: Callable[[int], bytes],
    open_lane: Callable[[], Awaitable[Lane]],
    clock: Clock,
) -> None:
    """Send the next post that no lane has taken, again and again; a broken connection is opened anew."""
    try:
        for number in numbers:
            due = clock.now()
            if pace.per_second is not None:
                due = start + number / pace.per_second
                await clock.sleep(max(due - clock.now(), 0.0))
                if clock.now() - start > pace.seconds + pace.overtime_s:
                    ledger.given_up(clock.now() - due)
                    continue
                ledger.sent_late += clock.now() - due > LATE_S
            elif due - start >= pace.seconds:
                return
            try:
                answer = await asyncio.wait_for(lane.ask(request(number)), ANSWER_S)
            except (ConnectionError, TimeoutError):
                ledger.unanswered += 1
                lane.close()
                lane = await open_lane()
            else:
                now = clock.now()
                ledger.answered(answer, now - due, in_window=pace.per_second is None or now - start <= pace.seconds)
    finally:
        lane.close()


def together(parts: Sequence[Sent]) -> Sent:
    """Give what several measurements of one thing came to."""
    statuses = Counter[str]()
    for part in parts:
        statuses.update(part.statuses)
    return Sent(
        latencies_ms=tuple(one for part in parts for one in part.latencies_ms),
        statuses=dict(statuses),
        receipts=tuple(one for part in parts for one in part.receipts),
        unanswered=sum(part.unanswered for part in parts),
        sent_late=sum(part.sent_late for part in parts),
        never_sent=sum(part.never_sent for part in parts),
        in_window=sum(part.in_window for part in parts),
        seconds=sum(part.seconds for part in parts),
    )
