"""One read of a loopback Prometheus, and what came of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from inquest.connectors.prometheus import (
    QUERY_ENDPOINTS,
    PrometheusConfig,
    PrometheusConnector,
    create_prometheus_connector,
)
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Error, Query
from inquest.domain.signals import (
    SignalContent,
    signal_content,
)
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
    act: Act | Handler, matchers: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[Loopback, PrometheusConnector]]:
    async with loopback(act if callable(act) else lambda _: act) as fake:
        config = PrometheusConfig(
            name="prom", context=CONTEXT, url="https://prom.example.org/", mandatory_matchers=dict(matchers or {})
        )
        transport = Transport(Endpoint(base_url=fake.url), post_to=QUERY_ENDPOINTS)
        connector = create_prometheus_connector(config, transport, clock=StandingClock(), cursor_key=CURSOR_KEY)
        try:
            yield fake, connector
        finally:
            await connector.aclose()


def prepared(
    connector: PrometheusConnector, operation: str, arguments: Mapping[str, Json], window: Window = WINDOW
) -> Query:
    tool = next(one for one in connector.tools if one.spec.name == f"prometheus_{operation}")
    return query_for(tool, arguments, window=window)


async def read(
    act: Act | Handler, operation: str, matchers: Mapping[str, str] | None = None, **arguments: Json
) -> Reading:
    async with connected(act, matchers) as (_, connector):
        return await execute_read(connector, CONTEXT, prepared(connector, operation, arguments))


def content(reading: Reading) -> SignalContent:
    assert not isinstance(reading.outcome, Error), reading.outcome
    (one,) = reading.outcome.observations
    return signal_content.validate_json(reading.contents[one.digest])


def failed(reading: Reading) -> tuple[FailureCode, str]:
    assert isinstance(reading.outcome, Error)
    return reading.outcome.error.code, reading.outcome.error.hint
