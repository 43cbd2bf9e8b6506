"""The store under test in memory: a schedule is played in it without an event loop, thousands in a minute."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from typing_extensions import override

from inquest.store.memory import MemoryJournal
from inquest.store.rules import INTERRUPT_LIFE
from tests.machine.calls import Look, Place
from tests.machine.schedule import Play, Schedule, drawn, play
from tests.store.builders import WORKSPACE, StillClock, opening

NAMES = ("inv-1", "inv-2")
T = TypeVar("T")


class InMemory(Place):
    def __init__(self, journal: type[MemoryJournal] = MemoryJournal, workspace: str = WORKSPACE) -> None:
        self.clock = StillClock()
        self.memory = journal(workspace, self.clock)
        self.journal = self.claims = self.actions = self.memory

    @override
    async def come_due(self, name: str) -> None:
        self.memory._find(name).not_before = None

    @override
    async def expire_questions(self) -> int:
        self.clock.moment += INTERRUPT_LIFE
        expired = await self.memory.expire_interrupts()
        self.clock.moment -= INTERRUPT_LIFE
        return expired

    @override
    async def look(self, name: str) -> Look:
        return Look(self.memory.status(name), self.memory.spend(name), await self.memory.load(name))


def at_once(act: Coroutine[Any, Any, T]) -> T:
    """Run what never waits for anything, without an event loop."""
    try:
        act.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("it waited for something")


async def _played(schedule: Schedule, journal: type[MemoryJournal]) -> Play:
    place = InMemory(journal)
    names = NAMES[: schedule.investigations]
    for rank, name in enumerate(names, start=1):
        await place.memory.open(opening(name, severity_rank=rank))
    return await play(place, schedule, names)


def judged(schedule: Schedule, journal: type[MemoryJournal] = MemoryJournal) -> Play:
    """Play `schedule` on a new store. Raises Broken."""
    return at_once(_played(schedule, journal))


def broken_by(schedule: Schedule, journal: type[MemoryJournal]) -> AssertionError | None:
    """Give what `schedule` breaks, or None."""
    try:
        judged(schedule, journal)
    except AssertionError as broken:
        return broken
    return None


def shortest(schedule: Schedule, journal: type[MemoryJournal] = MemoryJournal) -> Schedule:
    """Take out of a schedule that breaks a rule every step without which it breaks one, too."""
    size = len(schedule.steps)
    while size:
        for at in range(len(schedule.steps) - size, -1, -size):
            fewer = replace(schedule, steps=schedule.steps[:at] + schedule.steps[at + size :])
            if broken_by(fewer, journal):
                schedule = fewer
        size //= 2
    return schedule


def told(schedule: Schedule, journal: type[MemoryJournal] = MemoryJournal) -> str:
    """Tell what a schedule that was made short breaks, and how to see it again."""
    broken = broken_by(schedule, journal)
    return "\n".join(
        [
            f"schedule {schedule.seed}: {broken}",
            f"alone: .venv/bin/python -m tests.machine {schedule.seed}",
            "what is left of it when every step that can go has gone:",
            *map(str, schedule.steps),
            "its last calls:",
            *getattr(broken, "__notes__", ()),
        ]
    )


def first_broken(seeds: Iterable[int], journal: type[MemoryJournal] = MemoryJournal) -> Schedule | None:
    """Give the first schedule of `seeds` that breaks a rule, made short; None when all hold."""
    for seed in seeds:
        schedule = drawn(seed)
        if broken_by(schedule, journal):
            return shortest(schedule, journal)
    return None
