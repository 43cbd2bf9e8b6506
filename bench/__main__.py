"""`python -m bench`: run the benches and print their tables. Exit 0 whatever the figures are; 1 when a bench broke.

What the others measured is printed then too.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Never

from bench import effects, first_action, intake, investigation, machine, memory, startup
from bench.errors import BenchBroken
from bench.printing import as_json, best_loop_ms, printed
from bench.rows import Row
from bench.surroundings import loop_ms
from inquest.errors import InquestError
from inquest.telemetry import configure_logging

BENCHES: dict[str, Callable[[], list[Row]]] = {
    startup.NAME: startup.measure,
    intake.NAME: intake.measure,
    first_action.NAME: first_action.measure,
    effects.NAME: effects.measure,
    investigation.NAME: investigation.measure,
    memory.NAME: memory.measure,
}
FIRST_LOOPS = 200
"""To find the machine at its quietest, once: about a second."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    asked = _parser().parse_args(arguments)
    configure_logging(fmt="console", level="error")
    rows: list[Row] = []
    broken = 0
    loops, found = [loop_ms() for _ in range(FIRST_LOOPS)], machine.describe()
    for name in asked.only or BENCHES:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            rows += BENCHES[name]()
        except (BenchBroken, InquestError) as error:
            print(f"{name} broke: {error}", file=sys.stderr)
            broken += 1
    write = as_json if asked.json else printed
    said = write(rows, found, loop_ms=best_loop_ms(rows, loops), load_after=machine.load())
    print(json.dumps(said, indent=1) if asked.json else said)
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what Inquest costs on this machine.")
    parser.add_argument("--json", action="store_true", help="JSON to standard output instead of tables")
    parser.add_argument("--only", action="append", choices=list(BENCHES), help="one bench; may be given again")
    return parser


def _end(number: int, _: FrameType | None) -> Never:
    sys.exit(128 + number)


if __name__ == "__main__":
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _end)  # so that what was started is stopped
    sys.exit(main())
