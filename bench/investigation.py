"""A whole investigation of 20 turns and 40 calls, where neither the model nor the source takes any time.

Twice: in this process with a scripted model (`scripted`), and as a real `inquest work` runs it, with litellm, and
a provider and a Prometheus on loopback (`stand_in`), whose own CPU is within the figure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bench.errors import BenchBroken
from bench.installation import Installation, installation, until
from bench.intake import Poster
from bench.pace import Pace
from bench.rounds import rounds
from bench.rows import Aim, Figure, Row
from bench.script import TWENTY_TURNS
from bench.scripted import Ran, bench
from bench.stand_in import watched_by_stand_in
from bench.summary import median, span
from bench.surroundings import Watch

NAME = "investigation"
ROUNDS = 7
MOST_S = 25.0
AIM_S = 1.5
DONE_S = 60.0
ONE_POST = Pace(lanes=1, seconds=60.0, most=1)
_ENDED = "select count(*) from investigation where status = 'succeeded'"
_SECONDS = """
select extract(epoch from ended_at - started_at) from investigation where status = 'succeeded' order by started_at
"""
_MADE = """
select distinct count(*) filter (where kind = 'model' and key like 'turn/%%'),
  count(*) filter (where kind = 'query' and key like 'turn/%%')
from effect where state = 'committed' group by investigation_id
"""


def measure() -> list[Row]:
    """Measure both."""
    return [asyncio.run(_in_process()), by_worker()]


async def _in_process() -> Row:
    watch, ran = Watch(), list[Ran]()
    with installation() as one:
        async with bench(one) as investigations:
            await investigations.run(TWENTY_TURNS)
            for _ in rounds(ROUNDS, MOST_S):
                with watch.round():
                    ran.append(await investigations.run(TWENTY_TURNS))
    cpu = Figure(name="CPU of the process", value=median([each.cpu_s for each in ran]), unit="s")
    return _row("scripted model, in process", [each.seconds for each in ran], watch, cpu)


def by_worker() -> Row:
    """Measure what a worker takes from its claim to the end, by the database's clock; the first one is to warm up."""
    watch = Watch()
    with installation() as one, watched_by_stand_in(one), one.serving(), one.working():
        poster = Poster(one)
        run_one(one, poster)
        for _ in rounds(ROUNDS, MOST_S):
            with watch.round():
                run_one(one, poster)
        check_turns(one)
        seconds = [float(each) for (each,) in one.rows(_SECONDS)][1:]
    return _row("inquest work, litellm and HTTP on loopback", seconds, watch)


def run_one(one: Installation, poster: Poster) -> None:
    """Post one new group and wait for the end of its investigation. Raises BenchBroken when it does not succeed."""
    before = one.value(_ENDED)
    poster.post(0, ONE_POST)
    until(lambda: one.value(_ENDED) > before, "an investigation has succeeded", DONE_S)


def check_turns(one: Installation) -> None:
    """Raise BenchBroken when any investigation made other turns and calls than scripted."""
    found = one.rows(_MADE)
    if found != [(TWENTY_TURNS.turns, TWENTY_TURNS.queries)]:
        raise BenchBroken(f"{TWENTY_TURNS.turns} turns and {TWENTY_TURNS.queries} calls were scripted, made: {found}")


def _row(what: str, seconds: Sequence[float], watch: Watch, *more: Figure) -> Row:
    return Row(
        bench=NAME,
        what=what,
        figures=(
            Figure(name="median", value=median(seconds), unit="s"),
            Figure(name="best", value=min(seconds), unit="s"),
            *more,
        ),
        aims=(Aim(figure="median", most=AIM_S),),
        surroundings=watch.surroundings,
        note=f"{len(seconds)} runs, {span(seconds, 's')}",
    )
