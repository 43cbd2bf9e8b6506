"""Reads one answer through a connector, and says how late the event loop was meanwhile and how much memory it took.

    python -m tests.e2e.reads_large_answers URL EXPRESSION

It reads a small answer first (the second word of the path decides: the server knows), so that what is loaded once is not
counted. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

from inquest.domain.observation import Error, QueryBudget
from inquest.wire.execute import execute_read
from tests.connectors.harness import CONTEXT, Grip, query_for
from tests.connectors.test_prometheus_contract import PrometheusHarness

TICK_S = 0.005
QUIET_TICKS = 200
LONG = QueryBudget(timeout_ms=30_000)


class Ticks:
    """How late a task was that wanted to run every TICK_S."""

    def __init__(self) -> None:
        self.late_s: list[float] = []

    async def tick(self, times: int | None = None) -> None:
        """Tick so often; without an end where that is None."""
        while times is None or len(self.late_s) < times:
            due = time.perf_counter() + TICK_S
            await asyncio.sleep(TICK_S)
            self.late_s.append(time.perf_counter() - due)

    def say(self) -> dict[str, float]:
        ranked = sorted(self.late_s)
        return {"p99_ms": 1e3 * ranked[int(len(ranked) * 0.99)], "max_ms": 1e3 * ranked[-1]}


async def main(url: str, expression: str) -> dict[str, object]:
    harness = PrometheusHarness()
    connector = harness.connect(Grip(url=url))
    tool = next(one for one in connector.tools if one.spec.name == "prometheus_query_range")
    arguments = harness.arguments[tool.spec.name]
    await execute_read(connector, CONTEXT, query_for(tool, arguments, budget=LONG))
    quiet, busy = Ticks(), Ticks()
    await quiet.tick(QUIET_TICKS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ticking = asyncio.create_task(busy.tick())
    asked = query_for(tool, {**arguments, "expression": expression}, budget=LONG)
    outcome = (await execute_read(connector, CONTEXT, asked)).outcome
    ticking.cancel()
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    await connector.aclose()
    return {
        "said": outcome.error.code if isinstance(outcome, Error) else outcome.status,
        "truncated": not isinstance(outcome, Error) and any(one.truncated for one in outcome.observations),
        "grown_bytes": grown,
        "quiet": quiet.say(),
        "busy": busy.say(),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2]))))  # noqa: T201  # its one answer
