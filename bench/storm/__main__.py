"""`python -m bench.storm`: two storms, the second with a label on every alert that no other has. Exit 1 when a count is wrong."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Never

from bench import machine
from bench.errors import BenchBroken
from bench.posts import StormLabels
from bench.storm.judge import P99_MS, Judged, judge
from bench.storm.storm import MAX_RUNNING, USD_A_DAY, Storm, storming
from inquest.errors import InquestError
from inquest.telemetry import configure_logging

WORDS: dict[StormLabels, str] = {"pods": "repeating alerts", "random": "a random label on every alert"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Let the storms that are asked for pass, one after the other."""
    asked = _parser().parse_args(arguments)
    configure_logging(fmt="console", level="error")
    wrong = 0
    for labels in asked.labels or list(WORDS):
        storm = Storm(alerts=asked.alerts, seconds=asked.seconds, groups=asked.groups, labels=labels, short=asked.short)
        try:
            with storming(storm) as ran:
                judged = judge(ran)
        except (BenchBroken, InquestError) as error:
            print(f"storm broke: {error}")
            return 1
        print(said(storm, judged), flush=True)
        wrong += len(judged.wrong)
    print(f"load {machine.load()}")
    return 1 if wrong else 0


def said(storm: Storm, judged: Judged) -> str:
    """Say what came of a storm: a line, and one for each thing that is wrong."""
    line = (
        f"storm, {WORDS[storm.labels]}: {storm.alerts:,} alerts in {storm.seconds:g} s over {storm.groups} groups: "
        f"{judged.investigations} investigations, at most {max(judged.most_sampled, judged.most_overlapping)} running "
        f"(of {MAX_RUNNING}), {judged.reports} reports, {judged.usd:.2f} of {USD_A_DAY:g} USD, "
        f"intake p99 {judged.p99_ms:,.0f} ms (aim {P99_MS:g}); {len(judged.wrong)} wrong"
    )
    return "\n".join([line, *(f"  WRONG {one}" for one in judged.wrong)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.storm", description="Many alerts at once over few groups.")
    parser.add_argument("--alerts", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--labels", action="append", choices=list(WORDS), help="one storm; may be given again")
    parser.add_argument("--short", action="store_true", help="a model of three turns instead of twenty")
    return parser


def end(number: int, _: FrameType | None) -> Never:
    """End as whoever sent the signal expects, through every `finally`."""
    sys.exit(128 + number)


if __name__ == "__main__":
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, end)  # so that what was started is stopped
    sys.exit(main())
