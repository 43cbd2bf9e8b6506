"""Where a process can be told to die: 24 named points, and one hook that does nothing unless somebody armed it.

For tests of durability only. INQUEST_CRASH_AT arms a process at its start (`settings.py` reads it, `bootstrap`
arms); nothing else does, and no other code may ask where it stands.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum


class CrashPoint(Enum):
    """The points, in the order of an alert's way. Each says what has happened there and what has not."""

    C01 = "accept: the sender is authorized, its body unread"
    C02 = "accept: the body is read, the transaction not begun"
    C03 = "accept: the transaction is under way"
    C04 = "accept: committed, before the 2xx"
    C05 = "accept: the 2xx is sent"
    C06 = "an investigation is claimed"
    C07 = "a stage is done, its commit not begun"
    C08 = "a request to the model is sent, its answer not there"
    C09 = "a turn's answer is there, not stored"
    C10 = "a turn is stored, its calls not sent"
    C11 = "one call of a batch is stored, others are not"
    C12 = "a call is answered, the answer not stored"
    C13 = "the join of a batch is committed"
    C14 = "evidence is gathered and committed, diagnose not begun"
    C15 = "the answer of diagnose is there, not stored"
    C16 = "report, end and deliveries are made, their one commit not begun"
    C17 = "report, end and deliveries are committed"
    C18 = "a delivery is claimed and reserved, nothing sent"
    C19 = "a destination has accepted a message, its answer is unread"
    C20 = "the answer is read, the delivery not marked"
    C21 = "a delivery is marked as sent, the investigation's others are not"
    C22 = "a report's folder is written beside, not renamed"
    C23 = "leases are renewed, and their holder does not know yet"
    C24 = "SIGTERM: the grace is over, what was cut is not let go"


class Ending(StrEnum):
    """What happens to the process: it is gone, or it stands still until somebody lets it go on."""

    KILL = "kill"
    STOP = "stop"


@dataclass(frozen=True)
class CrashAt:
    """At which passing of which point, counted from 1, in this process."""

    point: CrashPoint
    passing: int = 1
    ending: Ending = Ending.KILL


WRITE_SO = "write a point, C01 to C24, a passing and kill or stop, as in C13, C13:2 or C13:1:stop"
_WRITTEN = re.compile(r"(?P<point>C[0-9]{2})(?::(?P<passing>[1-9][0-9]{0,3})(?::(?P<ending>kill|stop))?)?\Z")


def read(text: str) -> CrashAt:
    """Read POINT[:PASSING[:kill|stop]]. Raises ValueError saying how it is written."""
    found = _WRITTEN.match(text)
    if found is None or found["point"] not in CrashPoint.__members__:
        raise ValueError(WRITE_SO)
    return CrashAt(CrashPoint[found["point"]], int(found["passing"] or 1), Ending(found["ending"] or "kill"))


def checked(text: str) -> str:
    """Give `text` if it can be read. Raises ValueError as `read`."""
    read(text)
    return text


class _Hook:
    """Who is told of every point that is reached; nobody, but in a test."""

    watcher: Callable[[CrashPoint], object] | None = None


def reached(point: CrashPoint | None) -> None:
    """Say that `point` is reached, here and now; None says nothing. May be called in any thread.

    An armed process may end in it, or stand still and go on later.
    """
    if _Hook.watcher is not None and point is not None:
        _Hook.watcher(point)


def reached_when_sent(point: CrashPoint) -> None:
    """Let `point` be reached in the next turn of the event loop: when what is awaited next is on its way."""
    if _Hook.watcher is not None:
        asyncio.get_running_loop().call_soon(reached, point)


def is_watched() -> bool:
    """Say whether anybody is told, for where it costs something to know that a point is reached."""
    return _Hook.watcher is not None


def watch(watcher: Callable[[CrashPoint], object] | None) -> None:
    """Tell `watcher` of every point from now on; None tells nobody."""
    _Hook.watcher = watcher


def arm(at: CrashAt) -> None:
    """Let this process end, or stand still, at `at`."""
    passed = Counter[CrashPoint]()

    def end(point: CrashPoint) -> None:
        passed[point] += 1
        if point is at.point and passed[point] == at.passing:
            os.kill(os.getpid(), signal.SIGKILL if at.ending is Ending.KILL else signal.SIGSTOP)

    watch(end)
