"""A host connects a source with a configuration and a transport, and asks it one thing."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from inquest.domain.canonical import digest_of
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Context, Error, Ok, Outcome, Query
from inquest.domain.window import Window
from inquest.errors import ConfigurationError
from inquest.library import (
    LOKI_ENDPOINTS,
    PROMETHEUS_ENDPOINTS,
    Bearer,
    Endpoint,
    LokiConfig,
    PrometheusConfig,
    Transport,
    create_gitlab_connector,
    create_loki_connector,
    create_prometheus_connector,
    execute_read,
)
from inquest.ports import Connector
from tests.fakes.loopback import Loopback, Reply, loopback
from tests.fakes.prometheus import success
from tests.loop_host import SyntheticConnector, tool

CONTEXT = Context(issuer="p", audience="p", resource="p", tenant="", workspace="main", connector="p")
END = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
WINDOW = Window(start=END - timedelta(hours=1), end=END)


@asynccontextmanager
async def prometheus(reply: Reply) -> AsyncIterator[tuple[Loopback, Connector]]:
    async with loopback(lambda _: reply) as fake:
        config = PrometheusConfig(name="p", context=CONTEXT, url=fake.url)
        connector = create_prometheus_connector(
            config, Transport(Endpoint(base_url=fake.url), post_to=PROMETHEUS_ENDPOINTS)
        )
        yield fake, connector
        await connector.aclose()


def labels() -> Query:
    return Query(tool="prometheus_labels", service_id="", arguments={}, time_range=WINDOW)


@pytest.mark.parametrize("create", [create_prometheus_connector, create_loki_connector, create_gitlab_connector])
def test_a_connector_needs_a_configuration_and_a_transport_and_nothing_else(create: Callable[..., Connector]) -> None:
    needed = [one.name for one in inspect.signature(create).parameters.values() if one.default is one.empty]

    assert needed == ["config", "transport"]


def loki(transport: Transport) -> Connector:
    return create_loki_connector(LokiConfig(name="logs", context=CONTEXT, org_id="shop"), transport)


def endpoint(**headers: str) -> Endpoint:
    return Endpoint(base_url="http://127.0.0.1:9", headers={name.replace("_", "-"): v for name, v in headers.items()})


TWICE = endpoint(X_Scope_OrgID="shop").but(secret_headers={"x-scope-orgid": SecretStr("rival")})


@pytest.mark.parametrize(
    "sent", [endpoint(), endpoint(X_Scope_OrgID="rival"), TWICE], ids=["no tenant", "another tenant", "two tenants"]
)
def test_a_transport_that_does_not_send_the_pinned_tenant_is_refused(sent: Endpoint) -> None:
    with pytest.raises(ConfigurationError, match="logs: the transport does not send org_id"):
        loki(Transport(sent, post_to=LOKI_ENDPOINTS))

    assert loki(Transport(endpoint(X_Scope_OrgID="shop"), post_to=LOKI_ENDPOINTS)).name == "logs"


def test_a_transport_that_may_not_post_what_a_connector_posts_is_refused() -> None:
    config = PrometheusConfig(name="p", context=CONTEXT, url="http://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="PROMETHEUS_ENDPOINTS"):
        create_prometheus_connector(config, Transport(endpoint()))
    with pytest.raises(ConfigurationError, match="LOKI_ENDPOINTS"):
        loki(Transport(endpoint(X_Scope_OrgID="shop")))


async def test_a_credential_that_its_source_repeats_is_masked() -> None:
    token, door = "plain-words-of-no-known-format", "other-words-of-no-known-format"
    async with loopback(lambda _: success(["job", token, door])) as fake:
        sent = Endpoint(base_url=fake.url, secret_headers={"X-Door": SecretStr(door)})
        connector = create_prometheus_connector(
            PrometheusConfig(name="p", context=CONTEXT, url=fake.url),
            Transport(sent, Bearer(token=SecretStr(token)), post_to=PROMETHEUS_ENDPOINTS),
        )
        contents: dict[str, bytes] = {}
        outcome = await execute_read(connector, CONTEXT, labels(), contents=contents)
        await connector.aclose()

    assert isinstance(outcome, Ok)
    shown = outcome.model_dump_json() + str(contents)
    assert [secret for secret in (token, door) if secret in shown] == []


async def test_a_read_gives_its_outcome_and_the_full_content_by_digest() -> None:
    contents: dict[str, bytes] = {}
    async with prometheus(success(["instance", "job"])) as (fake, connector):
        outcome = await execute_read(connector, CONTEXT, labels(), contents=contents)

    assert isinstance(outcome, Ok)
    (observation,) = outcome.observations
    assert digest_of(contents[observation.digest]) == observation.digest
    assert b"instance" in contents[observation.digest]
    assert len(fake.seen) == 1


async def test_a_host_that_keeps_no_contents_gets_the_same_outcome() -> None:
    async with prometheus(success(["job"])) as (_, connector):
        kept: dict[str, bytes] = {}
        first = await execute_read(connector, CONTEXT, labels(), contents=kept)
        again = await execute_read(connector, CONTEXT, labels())

    assert isinstance(first, Ok)
    assert isinstance(again, Ok)
    assert first.observations[0].observation_id == again.observations[0].observation_id


async def test_a_source_that_fails_is_an_outcome() -> None:
    async with prometheus(Reply(503, b"overloaded: SECRET")) as (_, connector):
        outcome = await execute_read(connector, CONTEXT, labels())

    assert isinstance(outcome, Error)
    assert outcome.error.code is FailureCode.PROVIDER_ERROR
    assert "SECRET" not in outcome.model_dump_json()


@pytest.mark.parametrize("field", list(Context.model_fields))
async def test_another_context_is_refused_and_nothing_is_sent(field: str) -> None:
    async with prometheus(success([])) as (fake, connector):
        outcome = await execute_read(connector, CONTEXT.but(**{field: "rival"}), labels())

    assert isinstance(outcome, Error)
    assert outcome.error.code is FailureCode.CONTEXT_MISMATCH
    assert fake.seen == []


async def test_loose_json_is_read_as_a_query_or_refused() -> None:
    asked = labels().model_dump(mode="json")
    async with prometheus(success(["job"])) as (fake, connector):
        right = await execute_read(connector, CONTEXT, asked)
        wrong = await execute_read(connector, CONTEXT, {**asked, "workspace": "rival"})

    assert isinstance(right, Ok)
    assert isinstance(wrong, Error)
    assert wrong.error.code is FailureCode.INVALID_QUERY
    assert len(fake.seen) == 1


async def test_a_bug_of_a_connector_is_an_outcome_and_is_logged_by_its_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def break_down(_: Query) -> Outcome:
        raise ZeroDivisionError("SECRET")

    connector = SyntheticConnector([tool("metrics_query", break_down)], context=CONTEXT)
    query = Query(tool="metrics_query", service_id="", arguments={"expression": "up"}, time_range=WINDOW)

    outcome = await execute_read(connector, CONTEXT, query)

    assert isinstance(outcome, Error)
    assert outcome.error.code is FailureCode.PROVIDER_ERROR
    said = capsys.readouterr()
    assert '"error": "ZeroDivisionError"' in said.err
    assert "SECRET" not in said.err + said.out + outcome.model_dump_json()
