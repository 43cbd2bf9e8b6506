"""One storm: alerts are posted at a fixed rate whatever becomes of them, while two workers investigate."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg

from bench.installation import HOST, Installation, installation, until
from bench.intake import OPEN_LANES
from bench.pace import Pace, Sent
from bench.posts import StormLabels
from bench.sender import Plan, sent_by_process
from bench.stand_in import watched_by_stand_in
from inquest.domain.value import Value, rfc3339

MAX_RUNNING = 4
INPUT_USD, OUTPUT_USD = 3.0, 15.0
"""Of a million tokens, at the fake provider."""
USD_A_DAY = 5.0
OVERTIME_S = 600.0
"""A machine that cannot keep up sends the rest late, so that all of it counts; its latencies say so."""
QUIET_S = 900.0
"""How long the investigations and their reports may take after the last post."""
SAMPLE_S = 0.05
_RUNNING = "select count(*) from investigation where status = 'running'"
UNENDED = """
select count(*) from investigation i
where i.ended_at is null or exists (
  select from delivery_target t join delivery d using (target_id)
  where t.investigation_id = i.investigation_id and d.state in ('planned', 'reserved')
    and coalesce(d.not_before <= clock_timestamp(), true))
"""


class Storm(Value):
    """How many alerts, each in a post of its own, in how many seconds, over how many groups."""

    alerts: int
    seconds: float
    groups: int
    labels: StormLabels = "pods"
    short: bool = False
    """The model makes three turns instead of twenty."""

    @property
    def pace(self) -> Pace:
        """Give when posts are due."""
        rate = self.alerts / self.seconds
        return Pace(lanes=OPEN_LANES, seconds=self.seconds, most=self.alerts, per_second=rate, overtime_s=OVERTIME_S)


@dataclass
class Ran:
    """What a storm left: the database, what was answered, and what was seen meanwhile."""

    storm: Storm
    one: Installation
    sent: Sent
    most_running: int
    completions: int


@dataclass
class _Samples:
    """The most that were running in any look at the database, and how many looks there were."""

    most: int = 0
    looks: int = 0
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def _sampling(conninfo: str) -> Iterator[_Samples]:
    """Look how many run, again and again, for the length of a `with`."""
    samples = _Samples()

    def look() -> None:
        with psycopg.connect(conninfo, autocommit=True, options="-csearch_path=inquest") as connection:
            while not samples.over.wait(SAMPLE_S):
                ((running,),) = connection.execute(_RUNNING).fetchall()
                samples.most, samples.looks = max(samples.most, running), samples.looks + 1

    thread = threading.Thread(target=look, name="samples")
    thread.start()
    try:
        yield samples
    finally:
        samples.over.set()
        thread.join()


@contextmanager
def storming(storm: Storm) -> Iterator[Ran]:
    """Let `storm` pass over an installation, wait for quiet, and give what it left. Raises BenchBroken."""
    budgets: dict[str, Any] = {
        "max_running": MAX_RUNNING, "max_new_per_hour": max(storm.groups, 60), "max_usd_per_day": USD_A_DAY
    }  # fmt: skip
    with (
        installation() as one,
        watched_by_stand_in(one, short=storm.short, input_usd=INPUT_USD, output_usd=OUTPUT_USD, budgets=budgets) as url,
        one.serving(),
        one.working("work-1"),
        one.working("work-2"),
        _sampling(one.conninfo) as samples,
    ):
        sent = sent_by_process(_plan(one, storm))
        until(lambda: one.value(UNENDED) == 0, "all have ended and all reports are sent", QUIET_S)
        with urllib.request.urlopen(f"{url}/answered", timeout=10) as answer:  # noqa: S310  # our own, on loopback
            completions = int(answer.read())
        yield Ran(storm, one, sent, samples.most, completions)


def _plan(one: Installation, storm: Storm) -> Plan:
    return Plan(
        host=HOST,
        port=one.port,
        path=one.path,
        token=one.token,
        starts_at=rfc3339(datetime.now(UTC)),
        first=0,
        groups=storm.groups,
        pace=storm.pace,
        storm=storm.labels,
    )
