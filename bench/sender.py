"""The client, as a process of its own: a plan comes on standard input, what came of it goes to standard output.

The command is `python -m bench.sender < plan.json`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from functools import partial

from bench.errors import BenchBroken
from bench.http11 import Connection, connect, posting
from bench.pace import ANSWER_S, Pace, RealClock, Sent, send
from bench.posts import StormLabels, group_post, new_post, storm_post
from inquest.domain.value import Value

START_S = 60.0
"""To start and to end, beside the time of the pace and the longest wait for an answer."""


class Plan(Value):
    """What is sent where. Posts are of the groups `groups`, in turn; 0: each of a new group, from `first` on.

    With `storm` each brings one alert: of one of a few pods, or with a label that no other alert has.
    """

    host: str
    port: int
    path: str
    token: str
    starts_at: str
    first: int
    groups: int
    pace: Pace
    storm: StormLabels | None = None


def requests_of(plan: Plan) -> Callable[[int], bytes]:
    """Write every request before the first is sent, and give them by number."""
    wrap = partial(posting, plan.path, host=f"{plan.host}:{plan.port}", token=plan.token)
    if plan.storm is not None:
        told = [
            wrap(storm_post(number, plan.groups, plan.starts_at, plan.storm, first=plan.first))
            for number in range(plan.pace.posts)
        ]
        return told.__getitem__
    if plan.groups:
        known = [wrap(group_post(number, plan.starts_at)) for number in range(plan.groups)]
        return lambda number: known[number % plan.groups]
    new = [wrap(new_post(plan.first + number, plan.starts_at)) for number in range(plan.pace.posts)]
    return new.__getitem__


async def follow(plan: Plan) -> Sent:
    """Do what `plan` says."""

    async def lane() -> Connection:
        return await connect(plan.host, plan.port)

    return await send(plan.pace, requests_of(plan), lane, RealClock())


def sent_by_process(plan: Plan) -> Sent:
    """Let a process of its own follow `plan`. Raises BenchBroken when it fails."""
    patience = plan.pace.seconds + plan.pace.overtime_s + ANSWER_S + START_S
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "bench.sender"],
            input=plan.canonical(),
            stdout=subprocess.PIPE,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchBroken(f"the client did not end within {patience:g} s") from error
    if ran.returncode:
        raise BenchBroken(f"the client ended with {ran.returncode}")
    return Sent.parse(ran.stdout)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(follow(Plan.parse(sys.stdin.buffer.read()))).model_dump_json())
