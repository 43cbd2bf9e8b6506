"""One read of a loopback Loki, and what came of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from inquest.connectors.loki import QUERY_ENDPOINTS, LokiConfig, LokiConnector, create_loki_connector
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Error, Query, QueryBudget
from inquest.domain.signals import SignalContent, signal_content
from inquest.domain.value import Json
from inquest.domain.window import Window
from inquest.ports import Reading
from inquest.wire.endpoint import Endpoint
from inquest.wire.execute import execute_read
from inquest.wire.transport import Transport
from tests.connectors.harness import CONTEXT, CURSOR_KEY, WINDOW, StandingClock, query_for
from tests.fakes.loopback import Act, Handler, Loopback, loopback

SHOP = {"tenant": "shop"}


@asynccontextmanager
async def connected(
    act: Act | Handler, matchers: Mapping[str, str] | None = None, *, config: LokiConfig | None = None
) -> AsyncIterator[tuple[Loopback, LokiConnector]]:
    async with loopback(act if callable(act) else lambda _: act) as fake:
        chosen = config or LokiConfig(name="logs", context=CONTEXT, mandatory_matchers=dict(matchers or {}))
        transport = Transport(Endpoint(base_url=fake.url, headers=chosen.headers), post_to=QUERY_ENDPOINTS)
        connector = create_loki_connector(chosen, transport, clock=StandingClock(), cursor_key=CURSOR_KEY)
        try:
            yield fake, connector
        finally:
            await connector.aclose()


def prepared(
    connector: LokiConnector,
    operation: str,
    arguments: Mapping[str, Json],
    window: Window = WINDOW,
    budget: QueryBudget | None = None,
) -> Query:
    tool = next(one for one in connector.tools if one.spec.name == f"loki_{operation}")
    return query_for(tool, arguments, window=window, budget=budget)


async def read(
    act: Act | Handler,
    operation: str,
    arguments: Mapping[str, Json],
    matchers: Mapping[str, str] | None = None,
    window: Window = WINDOW,
) -> Reading:
    async with connected(act, matchers) as (_, connector):
        return await execute_read(connector, CONTEXT, prepared(connector, operation, arguments, window))


def content(reading: Reading) -> SignalContent:
    assert not isinstance(reading.outcome, Error), reading.outcome
    (one,) = reading.outcome.observations
    return signal_content.validate_json(reading.contents[one.digest])


def failed(reading: Reading) -> tuple[FailureCode, str]:
    assert isinstance(reading.outcome, Error)
    return reading.outcome.error.code, reading.outcome.error.hint
