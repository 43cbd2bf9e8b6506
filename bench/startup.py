"""How long `inquest --help` takes: what a user waits for before a command line does anything."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.installation import ours
from bench.rounds import rounds
from bench.rows import Aim, Figure, Row
from bench.summary import median, span
from bench.surroundings import Watch
from inquest.settings import child_environment

NAME = "startup"
ROUNDS = 11
MOST_S = 20.0
AIM_S = 0.4
LIMIT_S = 60.0


def measure() -> list[Row]:
    """Run it, an empty Python beside it, in turn."""
    script = Path(sys.executable).with_name("inquest")
    commands = {
        "inquest --help": [str(script), "--help"] if script.exists() else ours("--help"),
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    watches = {what: Watch() for what in commands}
    took: dict[str, list[float]] = {what: [] for what in commands}
    for _ in rounds(ROUNDS, MOST_S):
        for what, command in commands.items():
            with watches[what].round():
                took[what].append(_seconds(command))
    return [
        Row(
            bench=NAME,
            what=what,
            figures=(
                Figure(name="median", value=median(seconds), unit="s"),
                Figure(name="best", value=min(seconds), unit="s"),
            ),
            aims=(Aim(figure="median", most=AIM_S),) if what != "python -c pass" else (),
            surroundings=watches[what].surroundings,
            note=f"{len(seconds)} runs, {span(seconds, 's')}",
        )
        for what, seconds in took.items()
    ]


def _seconds(command: Sequence[str]) -> float:
    environment = child_environment({}, own=False)
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S, env=environment)
    return time.perf_counter() - began
