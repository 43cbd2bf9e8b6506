"""`python -m bench.storm.soak --minutes 10`: alerts at a steady rate, and how memory and tables grow. Linux only.

Every slice brings two new groups, so that investigations begin and end all the while. A slope is that of the straight
line through the samples of the second half: the first half is for caches, pools and the allocator to fill.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from bench import machine
from bench.errors import BenchBroken
from bench.installation import HOST, Installation, Running, installation, until
from bench.memory import memory_mb
from bench.pace import Pace, Sent, together
from bench.sender import Plan, sent_by_process
from bench.stand_in import watched_by_stand_in
from bench.storm.__main__ import end
from bench.storm.storm import OVERTIME_S, QUIET_S, UNENDED
from bench.summary import percentile
from inquest.domain.value import Value, rfc3339
from inquest.errors import InquestError
from inquest.telemetry import configure_logging

PER_SECOND = 20.0
SLICE_S = 10.0
GROUPS_A_SLICE = 2
LANES = 8
_TABLES = """
select c.relname, pg_total_relation_size(c.oid) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname in ('inquest', 'procrastinate')
"""


class Sample(Value):
    """At `at` seconds: megabytes resident in each process, and the bytes of each table with its indexes."""

    at: float
    service_mb: float
    worker_mb: float
    tables: dict[str, int]


def soak(minutes: float) -> tuple[list[Sample], Sent]:
    """Post at PER_SECOND for so long, sampling after every slice. Raises BenchBroken."""
    samples: list[Sample] = []
    sent: list[Sent] = []
    with (
        installation() as one,
        watched_by_stand_in(one, short=True),
        one.serving() as service,
        one.working() as worker,
    ):
        began = time.monotonic()
        samples.append(_sample(one, service, worker, 0.0))
        while (now := time.monotonic() - began) < minutes * 60:
            sent.append(sent_by_process(_plan(one, len(sent))))
            samples.append(_sample(one, service, worker, now))
        until(lambda: one.value(UNENDED) == 0, "all have ended and all reports are sent", QUIET_S)
        samples.append(_sample(one, service, worker, time.monotonic() - began))
        if not one.value("select balanced from accounting('default')"):
            raise BenchBroken("the accounting equation does not hold")
    return samples, together(sent)


def slope_per_hour(samples: Sequence[tuple[float, float]]) -> float:
    """Give the slope an hour of the straight line through (seconds, value), by least squares; 0 for a single moment."""
    count = len(samples)
    at = sum(x for x, _ in samples) / count
    value = sum(y for _, y in samples) / count
    spread = sum((x - at) ** 2 for x, _ in samples)
    return 0.0 if spread == 0 else sum((x - at) * (y - value) for x, y in samples) / spread * 3_600


def said(samples: Sequence[Sample], sent: Sent) -> list[str]:
    """Say how memory and tables grew."""
    late, first, last = samples[len(samples) // 2 :], samples[0], samples[-1]
    service = slope_per_hour([(one.at, one.service_mb) for one in late])
    worker = slope_per_hour([(one.at, one.worker_mb) for one in late])
    grown = {name: size - first.tables.get(name, 0) for name, size in last.tables.items()}
    largest = sorted(((size, name) for name, size in grown.items() if size > 0), reverse=True)[:8]
    total = sum(grown.values())
    p99 = f"p99 {percentile(sent.latencies_ms, 99):,.0f} ms"
    return [
        f"soak: {last.at / 60:.1f} min at {PER_SECOND:g} alerts/s: {sent.accepted:,} accepted, {sent.others} others, {p99}",
        f"  service {first.service_mb:.0f} -> {last.service_mb:.0f} MiB, second half {service:+.1f} MiB/h",
        f"  worker {first.worker_mb:.0f} -> {last.worker_mb:.0f} MiB, second half {worker:+.1f} MiB/h",
        f"  tables +{total / 2**20:.1f} MiB, {total / max(sent.accepted, 1):,.0f} bytes an alert: "
        + ", ".join(f"{name} {size / 2**20:.1f}" for size, name in largest),
        f"  load {machine.load()}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, and print what was seen. Exit 1 when anything was not answered 202, or the equation does not hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.storm.soak", description="A steady rate for a while.")
    parser.add_argument("--minutes", type=float, default=10.0)
    asked = parser.parse_args(arguments)
    configure_logging(fmt="console", level="error")
    try:
        samples, sent = soak(asked.minutes)
    except (BenchBroken, InquestError) as error:
        print(f"soak broke: {error}")
        return 1
    print("\n".join(said(samples, sent)))
    return 1 if sent.others else 0


def _sample(one: Installation, service: Running, worker: Running, at: float) -> Sample:
    return Sample(
        at=at, service_mb=memory_mb(service)[0], worker_mb=memory_mb(worker)[0], tables=dict(one.rows(_TABLES))
    )


def _plan(one: Installation, number: int) -> Plan:
    return Plan(
        host=HOST,
        port=one.port,
        path=one.path,
        token=one.token,
        starts_at=rfc3339(datetime.now(UTC)),
        first=number * GROUPS_A_SLICE,
        groups=GROUPS_A_SLICE,
        pace=Pace(
            lanes=LANES,
            seconds=SLICE_S,
            most=int(PER_SECOND * SLICE_S),
            per_second=PER_SECOND,
            overtime_s=OVERTIME_S,
        ),
        storm="pods",
    )


if __name__ == "__main__":
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, end)  # so that what was started is stopped
    sys.exit(main())
