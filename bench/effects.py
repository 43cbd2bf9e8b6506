"""What an effect costs beside the act itself: reserving it, recording what came of it, joining its batch.

Model and source answer at once, in this process. The time is that of the door (`door`), which holds every write of
the investigation, divided by its model and query effects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bench.installation import installation
from bench.rounds import rounds
from bench.rows import Aim, Figure, Row
from bench.script import BATCHES, SEQUENTIAL, Shape
from bench.scripted import Ran, bench
from bench.summary import median, span
from bench.surroundings import Watch

NAME = "effects"
ROUNDS = 7
MOST_S = 25.0
AIM_MS = 5.0
SHAPES = {"one call a turn": SEQUENTIAL, "eight calls a turn, at once": BATCHES}


def measure() -> list[Row]:
    """Run investigations of each shape in turn; the first of each is to warm up."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    watches = {what: Watch() for what in SHAPES}
    ran: dict[str, list[Ran]] = {what: [] for what in SHAPES}
    with installation() as one:
        async with bench(one) as investigations:
            for shape in SHAPES.values():
                await investigations.run(shape)
            for _ in rounds(ROUNDS, MOST_S):
                for what, shape in SHAPES.items():
                    with watches[what].round():
                        ran[what].append(await investigations.run(shape))
    return [_row(what, shape, ran[what], watches[what]) for what, shape in SHAPES.items()]


def _row(what: str, shape: Shape, ran: Sequence[Ran], watch: Watch) -> Row:
    each = [one.ms_an_effect for one in ran]
    return Row(
        bench=NAME,
        what=what,
        figures=(
            Figure(name="median", value=median(each), unit="ms"),
            Figure(name="best", value=min(each), unit="ms"),
        ),
        aims=(Aim(figure="median", most=AIM_MS),),
        surroundings=watch.surroundings,
        note=f"{len(ran)} runs of {shape.turns} turns and {shape.queries} calls, {span(each, 'ms')}",
    )
