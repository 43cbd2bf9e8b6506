"""One read of a loopback GitLab, and what came of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from inquest.connectors.gitlab import GitLabConfig, GitLabConnector, create_gitlab_connector
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Error, Query, QueryBudget
from inquest.domain.signals import ChangeRecord, Changes, signal_content
from inquest.domain.value import Json, rfc3339
from inquest.domain.window import Window
from inquest.ports import Reading
from inquest.wire.endpoint import Endpoint
from inquest.wire.execute import execute_read
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport
from tests.connectors.harness import CONTEXT, CURSOR_KEY, WINDOW, StandingClock
from tests.fakes.loopback import Act, Handler, Loopback, loopback

PROJECTS = ("shop/checkout", "shop/payments")
START, END = rfc3339(WINDOW.start), rfc3339(WINDOW.end)
JUST_BEFORE, JUST_BEFORE_END = (rfc3339(at - timedelta(milliseconds=1)) for at in (WINDOW.start, WINDOW.end))


def config(**changes: object) -> GitLabConfig:
    given = {"name": "code", "context": CONTEXT, "url": "https://gitlab.shop.example", "projects": PROJECTS}
    return GitLabConfig.model_validate({**given, **changes})


@asynccontextmanager
async def connected(
    act: Act | Handler, chosen: GitLabConfig | None = None, *, redactor: Redactor | None = None
) -> AsyncIterator[tuple[Loopback, GitLabConnector]]:
    async with loopback(act if callable(act) else lambda _: act) as fake:
        transport = Transport(Endpoint(base_url=fake.url))
        connector = create_gitlab_connector(
            chosen or config(), transport, clock=StandingClock(), cursor_key=CURSOR_KEY, redactor=redactor
        )
        try:
            yield fake, connector
        finally:
            await connector.aclose()


def prepared(
    connector: GitLabConnector,
    operation: str,
    arguments: Mapping[str, Json] | None = None,
    *,
    service: str = "checkout",
    window: Window = WINDOW,
    budget: QueryBudget | None = None,
) -> Query:
    tool = next(one for one in connector.tools if one.spec.name == f"gitlab_{operation}")
    bare = Query(
        tool=tool.spec.name, service_id=service, arguments={}, time_range=window, budget=budget or QueryBudget()
    )
    return tool.prepare(arguments or {}, bare)


async def read(
    act: Act | Handler,
    operation: str,
    arguments: Mapping[str, Json] | None = None,
    chosen: GitLabConfig | None = None,
    *,
    service: str = "checkout",
) -> Reading:
    async with connected(act, chosen) as (_, connector):
        return await execute_read(connector, CONTEXT, prepared(connector, operation, arguments, service=service))


def changes(reading: Reading) -> tuple[ChangeRecord, ...]:
    assert not isinstance(reading.outcome, Error), reading.outcome
    (one,) = reading.outcome.observations
    found = signal_content.validate_json(reading.contents[one.digest])
    assert isinstance(found, Changes)
    return found.changes


def failed(reading: Reading) -> tuple[FailureCode, str]:
    assert isinstance(reading.outcome, Error), reading.outcome
    return reading.outcome.error.code, reading.outcome.error.hint
