"""What else used the cores: without it no figure of a shared machine means anything.

Other processes' CPU is what the machine was busy with, less what this process and all its descendants used
(Postgres is one of them: the bench starts it). Both come from /proc; elsewhere it is not known.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.rows import Surroundings

LOOP_STEPS = 60_000
LOOPS = 5
"""Before a measurement, and as many after it."""
_PROC = Path("/proc")
_IDLE = (3, 4)
"""Columns idle and iowait of the first line of /proc/stat (proc(5)). The last two, guest, are within the first two."""
_COUNTED = 8


@dataclass(frozen=True)
class Ticks:
    """Of one process: its parent, and the clock ticks of itself and of its children that it has waited for."""

    parent: int
    used: int


def busy_ticks(stat: str) -> int:
    """Give the ticks in which any core of the machine did something, stolen time included, out of /proc/stat."""
    columns = [int(one) for one in stat.splitlines()[0].split()[1 : 1 + _COUNTED]]
    return sum(ticks for place, ticks in enumerate(columns) if place not in _IDLE)


def process_ticks(stat: str) -> Ticks:
    """Read /proc/PID/stat. A name in it may hold spaces and parentheses."""
    columns = stat.rpartition(")")[2].split()
    return Ticks(parent=int(columns[1]), used=sum(int(one) for one in columns[11:15]))


def tree_ticks(processes: Mapping[int, Ticks], root: int) -> int:
    """Give the ticks of `root` and of everything that descends from it."""
    children: dict[int, list[int]] = {}
    for pid, one in processes.items():
        children.setdefault(one.parent, []).append(pid)
    total, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        total += processes[pid].used
        waiting += children.get(pid, ())
    return total


@dataclass(frozen=True)
class _Reading:
    at: float
    others: int | None


def _read() -> _Reading:
    if not (_PROC / "stat").exists():
        return _Reading(time.perf_counter(), None)
    processes: dict[int, Ticks] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):  # it ended while we looked
                processes[int(folder.name)] = process_ticks((folder / "stat").read_text(errors="replace"))
    others = busy_ticks((_PROC / "stat").read_text()) - tree_ticks(processes, os.getpid())
    return _Reading(time.perf_counter(), others)


def loop_ms() -> float:
    """Run the calibration loop once: a fixed piece of arithmetic, the same on every machine."""
    began, total = time.perf_counter(), 0
    for number in range(LOOP_STEPS):
        total = (total * 31 + number) & 0xFFFF_FFFF
    return (time.perf_counter() - began) * 1000


class Watch:
    """Watches one row over all the rounds in which it is measured."""

    def __init__(self) -> None:
        self.loops: list[float] = []
        self._seconds = 0.0
        self._ticks: int | None = 0

    @contextmanager
    def round(self) -> Iterator[None]:
        """Watch what is inside the `with`, and calibrate on both sides of it."""
        self.loops += [loop_ms() for _ in range(LOOPS)]
        before = _read()
        try:
            yield
        finally:
            after = _read()
            self.add(after.at - before.at, _less(after.others, before.others))
            self.loops += [loop_ms() for _ in range(LOOPS)]

    def add(self, seconds: float, ticks: int | None) -> None:
        """Take `ticks` of other processes in `seconds` into account; None is not known, and stays so."""
        self._seconds += seconds
        self._ticks = None if ticks is None or self._ticks is None else self._ticks + max(ticks, 0)

    @property
    def surroundings(self) -> Surroundings:
        """Give what was seen in all rounds together."""
        cores = None
        if self._ticks is not None and self._seconds:
            cores = self._ticks / os.sysconf("SC_CLK_TCK") / self._seconds
        return Surroundings(other_cores=cores, loop_ms=sum(self.loops) / len(self.loops))


def _less(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before
