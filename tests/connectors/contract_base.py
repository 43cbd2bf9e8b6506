"""What every part of the contract suite stands on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from inquest.domain.failure import FailureCode
from inquest.domain.observation import Context, Error, Observation, Ok, Query, QueryBudget
from inquest.domain.value import Json
from inquest.domain.window import Window
from inquest.ports import Connector, Reading, Tool
from inquest.wire.execute import execute_read
from tests.connectors.harness import (
    CONTEXT,
    Fails,
    Grip,
    Harness,
    query_for,
)
from tests.fakes.loopback import Act, Handler, Loopback, Reply, loopback

LIMIT_S = 60.0
LONG_RUN = 14
SHORT = QueryBudget(timeout_ms=300)
BROKEN: tuple[Json, ...] = (None, True, 7, -1.5, "x", [], {}, [[]], [{}], {"a": 1}, "\ud800")
READABLE_FAILURES = (
    FailureCode.SCHEMA_DRIFT,
    FailureCode.MALFORMED_RESULT,
    FailureCode.CONTEXT_MISMATCH,
    FailureCode.PROVIDER_ERROR,
    FailureCode.CAPABILITY_DENIED,
)
WORDS_OF_CREDENTIALS = (
    "password",
    "token",
    "api_key",
    "apikey",
    "credential",
    "authorization",
    "tenant",
    "http://",
    "https://",
    "127.0.0.1",
)


class Contract:
    """A connector against a loopback vendor, and one read of it."""

    harness: Harness

    @asynccontextmanager
    async def connected(self, handler: Handler | Act | None = None) -> AsyncIterator[tuple[Loopback, Connector]]:
        chosen = self.harness.good if handler is None else handler
        async with loopback(chosen if callable(chosen) else lambda _: chosen) as fake:
            connector = self.harness.connect(Grip(url=fake.url))
            try:
                yield fake, connector
            finally:
                await connector.aclose()

    def tools(self, connector: Connector) -> list[tuple[Tool, Query]]:
        return [(tool, query_for(tool, self.harness.arguments[tool.spec.name])) for tool in connector.tools]

    async def read(self, connector: Connector, query: Query, context: Context = CONTEXT) -> Reading:
        return await asyncio.wait_for(execute_read(connector, context, query, unexpected=raise_again), LIMIT_S)

    def case(self, connector: Connector, fails: Fails) -> Query:
        tool = next(one for one in connector.tools if fails.tool in {None, one.spec.name})
        good = query_for(tool, self.harness.arguments[tool.spec.name], budget=fails.budget)
        if fails.arguments is None:
            return good
        return good.but(arguments=dict(fails.arguments))


def raise_again(error: Exception) -> None:
    """Fail the test: no connector of ours may raise."""
    raise error


def code(reading: Reading) -> FailureCode | str:
    return reading.outcome.status if isinstance(reading.outcome, Ok) else reading.outcome.error.code


def observed(reading: Reading) -> tuple[Observation, ...]:
    assert not isinstance(reading.outcome, Error), reading.outcome
    return reading.outcome.observations


def words_shared(act: Act | Handler, hint: str) -> list[str]:
    """List the runs of LONG_RUN characters of a scripted answer that a hint repeats: there must be none."""
    body = act.body.decode("utf-8", "replace") if isinstance(act, Reply) else ""
    return [body[at : at + LONG_RUN] for at in range(len(body) - LONG_RUN + 1) if body[at : at + LONG_RUN] in hint]


def within_a_step(asked: tuple[datetime | None, datetime], wanted: Window, step_ms: int) -> bool:
    """Say whether a source was asked for the window, give or take what its grid rounds away."""
    step = timedelta(milliseconds=step_ms)
    start, end = asked
    return (start is None or abs(start - wanted.start) <= step) and wanted.end - step <= end <= wanted.end


def broken_forms(good: Json) -> Iterator[Json]:
    """Give `good` with each of its parts in turn replaced by something of another type, or left out."""
    yield from BROKEN
    match good:
        case dict():
            for name, inner in good.items():
                yield {key: value for key, value in good.items() if key != name}
                yield from ({**good, name: broken} for broken in broken_forms(inner))
        case [first, *rest]:
            yield from ([broken, *rest] for broken in broken_forms(first))
        case _:
            pass
