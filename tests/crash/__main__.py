"""The crash matrix, and its mutants.

    python -m tests.crash [--schedules 20] [--seed 1] [--lanes 8]
    python -m tests.crash --only C13/7 --seed 1        one run, with its logs when something breaks
    python -m tests.crash --mutants                    each guard out once: the matrix has to turn red

Exit code 0 when everything holds (or, with --mutants, when nothing does), else 1.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence

from tests.crash.drama import Played
from tests.crash.matrix import LANES, run_all, yard
from tests.crash.mutants import MUTANTS
from tests.crash.schedules import SCHEDULES, Blow, Schedule, beside, kills, named
from tests.crash.truths import Kind

PROGRESS_EVERY = 24


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Progress:
    """Says how far it is, and of each run that breaks a truth how to do it alone."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._done = 0
        self._began = time.monotonic()

    def __call__(self, played: Played, seconds: float) -> None:
        """Take one more run into account."""
        self._done += 1
        if played.breaches:
            tell_of(played, seconds)
        if self._done % PROGRESS_EVERY == 0 or self._done == self._runs:
            say(f"{self._done} of {self._runs} runs in {time.monotonic() - self._began:.0f} s")


def tell_of(played: Played, seconds: float) -> None:
    """Say what broke in a run, and how to do it alone."""
    schedule = played.schedule
    say(f"{'BROKEN' if played.is_broken else 'LATE'} after {seconds:.0f} s: {schedule.words()}")
    for breach in played.breaches:
        say(f"    {breach.kind}: {breach.words}")
    say(f'    alone: make crash ARGS="--only {schedule.name} --seed {schedule.seed}"')


async def matrix(seed: int, schedules: int, lanes: int) -> int:
    """Do the whole, and give the exit code. The last line is that of the kills."""
    first, more = kills(seed, schedules), beside(seed, schedules)
    everything = [*more, *first]
    say(f"seed {seed}: {len(first)} runs with kill -9, {len(more)} beside")
    async with yard(everything) as where:
        progress = Progress(len(everything))
        others = await run_all(where, more, progress, lanes=lanes)
        killed = await run_all(where, first, progress, lanes=lanes)
    vacuous = others.of(Kind.VACUOUS) + killed.of(Kind.VACUOUS)
    if vacuous:
        say(f"{vacuous} runs never came to their point")
    say(f"crash beside: {_kinds(more)}: {others.words()}, {others.late} {Kind.LATE}")
    say(f"crash: {killed.words()}")
    # A late send is told by its own name, and is red all the same: a second send that has another cause looks like it.
    return 1 if others.breached or others.late or killed.breached else 0


def _kinds(schedules: Sequence[Schedule]) -> str:
    return ", ".join(
        f"{sum(one.blow is blow for one in schedules)} {blow.name.lower()}" for blow in Blow if blow is not Blow.KILL
    )


async def alone(name: str, seed: int) -> int:
    """Do one run, and show its logs when something breaks."""
    schedule = named(name, seed)
    say(schedule.words())
    async with yard([schedule]) as where:
        began = time.monotonic()
        played = await where.play(schedule)
        seconds = time.monotonic() - began
    if played.breaches:
        tell_of(played, seconds)
        say(played.logs)
    say(f"{'broken' if played.is_broken else 'holds'} after {seconds:.1f} s, {where.nursery.cpu_s:.1f} s of CPU")
    return 1 if played.is_broken else 0


async def mutants(seed: int, lanes: int) -> int:
    """Take each guard out, and give 1 when the matrix stays green without one of them."""
    green = 0
    for name, mutant in MUTANTS.items():
        schedules = mutant.schedules(seed)
        async with yard(schedules, name) as where:
            count = await run_all(where, schedules, _tell_nobody, lanes=lanes)
        found = [breach for played in count.breached for breach in played.breaches if breach.kind is not Kind.VACUOUS]
        green += not found
        say(f"without {mutant.guard}: {count.words()}: {'red' if found else 'STAYS GREEN'}")
        if found:
            say(f"    {found[0].kind}: {found[0].words[:200]}")
    say(f"crash-mutants: {len(MUTANTS)} guards taken out, {len(MUTANTS) - green} red, {green} green")
    return 1 if green else 0


def _tell_nobody(_played: Played, _seconds: float) -> None:
    """Say nothing: it is meant to break."""


def main() -> int:
    """Read the arguments and do what they ask."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__.splitlines()[0])
    parser.add_argument("--schedules", type=int, default=SCHEDULES, help="kills at each of the 24 points")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=LANES, help="runs at once")
    parser.add_argument("--only", metavar="RUN", help="one run, as a broken one is named")
    parser.add_argument("--mutants", action="store_true", help="take each guard out once")
    asked = parser.parse_args()
    if asked.only:
        return asyncio.run(alone(asked.only, asked.seed))
    if asked.mutants:
        return asyncio.run(mutants(asked.seed, asked.lanes))
    return asyncio.run(matrix(asked.seed, asked.schedules, asked.lanes))


if __name__ == "__main__":
    sys.exit(main())
