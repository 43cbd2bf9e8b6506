"""Many runs at once, each on a database of its own, and what they come to."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from tests.crash.children import Nursery, nursery
from tests.crash.drama import Played, play
from tests.crash.mutants import MUTANTS, in_database
from tests.crash.patience import PATIENCE_S
from tests.crash.postgres import Server, server
from tests.crash.schedules import Blow, Schedule
from tests.crash.truths import Kind

LANES = 8
"""Runs at once: most of a run waits for a lease or a deadline to pass."""
TRIES = 3
"""Of one run, before it is said that nobody comes to its point."""


@dataclass
class Yard:
    """What all runs share. Where Postgres is killed, it is a server of its own, and one run at a time."""

    nursery: Nursery
    shared: Server
    own: Server | None

    async def play(self, schedule: Schedule, *, patience_s: float = PATIENCE_S) -> Played:
        """Do one run; again, from the beginning, when nobody came to its point and nothing else was broken.

        That is no finding: on a busy machine a peer may take over, with a lease of 1 s, before anything fell.
        """
        where = self.own if schedule.blow is Blow.POSTGRES else self.shared
        assert where is not None
        for _ in range(TRIES - 1):
            async with where.clone() as clone:
                played = await play(schedule, clone, self.nursery, patience_s=patience_s)
            if {breach.kind for breach in played.breaches} != {Kind.VACUOUS}:
                return played
        async with where.clone() as clone:
            return await play(schedule, clone, self.nursery, patience_s=patience_s)


@asynccontextmanager
async def yard(schedules: Sequence[Schedule], mutant: str | None = None) -> AsyncIterator[Yard]:
    """Make ready what `schedules` need, for the length of a `with`; `mutant` has one guard less."""
    mutate = in_database(MUTANTS[mutant].statements if mutant else ())
    async with AsyncExitStack() as stack:
        children = await stack.enter_async_context(nursery(mutant))
        shared = await stack.enter_async_context(server(mutate))
        kills_postgres = any(one.blow is Blow.POSTGRES for one in schedules)
        own = await stack.enter_async_context(server(mutate)) if kills_postgres else None
        yield Yard(children, shared, own)


@dataclass
class Count:
    """What runs came to: counted, never assumed."""

    runs: int = 0
    late: int = 0
    """First sends of processes that were continued after their deadline: told, and no breach."""
    breached: list[Played] = field(default_factory=list)

    def add(self, played: Played) -> None:
        """Count one."""
        self.runs += 1
        self.late += sum(one.kind is Kind.LATE for one in played.breaches)
        if played.is_broken:
            self.breached.append(played)

    def of(self, kind: Kind) -> int:
        """Give how many breaches there are of `kind`."""
        return sum(one.kind is kind for played in self.breached for one in played.breaches)

    def words(self) -> str:
        """Say it in a line."""
        kinds = (Kind.LOST, Kind.DUPLICATE, Kind.MISMATCH)
        return f"{self.runs} runs, {', '.join(f'{self.of(kind)} {kind}' for kind in kinds)}"


async def run_all(
    where: Yard, schedules: Sequence[Schedule], tell: Callable[[Played, float], None], *, lanes: int = LANES
) -> Count:
    """Do all of `schedules`, `lanes` at once; `tell` is called after each with the seconds that it took."""
    count, waiting = Count(), deque(one for one in schedules if one.blow is not Blow.POSTGRES)
    postgres = deque(one for one in schedules if one.blow is Blow.POSTGRES)

    async def lane(queue: deque[Schedule]) -> None:
        while queue:
            began = time.monotonic()
            played = await where.play(queue.popleft())
            count.add(played)
            tell(played, time.monotonic() - began)

    await asyncio.gather(lane(postgres), *(lane(waiting) for _ in range(lanes)))
    return count
