"""Investigate an incident in this process: first the analyst does, then a scripted model.

No service, no database, no key. The recorded incident that ships with Inquest stands where your sources would.
"""

import asyncio
import json
from datetime import UTC, datetime, timedelta

from pydantic import SecretStr

from inquest.library import (
    GITLAB_TOKEN_HEADER,
    LOKI_ENDPOINTS,
    PROMETHEUS_ENDPOINTS,
    Analyst,
    Connector,
    Context,
    Endpoint,
    Facts,
    GitLabConfig,
    HeaderToken,
    Identity,
    Investigator,
    LokiConfig,
    MemoryJournal,
    Opening,
    PrometheusConfig,
    Reply,
    ScriptedModel,
    SystemClock,
    ToolCall,
    Transport,
    create_gitlab_connector,
    create_loki_connector,
    create_model_investigator,
    create_prometheus_connector,
    incident_window,
    propose_plan,
    run_investigation,
)
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.server import RecordedBackend, start

WORKSPACE = "shop"
PROJECTS = ("shop/checkout", "shop/payments", "shop/frontend", "shop/search")
ERROR_RATIO = (
    'sum(rate(http_requests_total{namespace="shop",service="checkout",status=~"5.."}[5m]))'
    ' / sum(rate(http_requests_total{namespace="shop",service="checkout"}[5m])) > 0.05'
)
PENDING = 'max(db_pool_pending_requests{namespace="shop",service="checkout"})'
LINE = "timeout acquiring connection from pool"
CLOCK = SystemClock()


# ---- what you bring: sources, facts, a model -------------------------------------------------------------


def connect(backend: RecordedBackend) -> list[Connector]:
    """Connect three sources: each a configuration and a transport. Nothing is opened yet."""
    prometheus, loki, gitlab = backend.prometheus_url, backend.loki_url, backend.gitlab_url
    token = HeaderToken(header=GITLAB_TOKEN_HEADER, token=SecretStr(backend.gitlab_token))
    return [
        create_prometheus_connector(
            PrometheusConfig(name="prometheus", context=pinned("prometheus", prometheus), url=prometheus),
            Transport(Endpoint(base_url=prometheus), post_to=PROMETHEUS_ENDPOINTS),
        ),
        create_loki_connector(
            LokiConfig(name="loki", context=pinned("loki", loki)),
            Transport(Endpoint(base_url=loki), post_to=LOKI_ENDPOINTS),
        ),
        create_gitlab_connector(
            GitLabConfig(name="gitlab", context=pinned("gitlab", gitlab), url=gitlab, projects=PROJECTS),
            Transport(Endpoint(base_url=gitlab), token),
        ),
    ]


def pinned(name: str, url: str) -> Context:
    """Say who reads where. A read under another context is refused and not sent."""
    return Context(issuer=name, audience=name, resource=url, tenant="", workspace=WORKSPACE, connector=name)


def facts_of(firing_since: datetime, now: datetime) -> Facts:
    """Say what is wrong, of which service, and since when: what your alerting told you."""
    return Facts(
        alert_name="CheckoutErrorRatioHigh",
        severity="critical",
        alert_source="alertmanager",
        service="checkout",
        namespace="shop",
        error_message="More than 5% of the answers of checkout are errors.",
        expression=ERROR_RATIO,
        labels={"namespace": "shop", "service": "checkout"},
        window=incident_window(firing_since=firing_since, received_at=firing_since, ended_at=None, now=now),
    )


def scripted() -> Investigator:
    """Give a model that says these four things in turn, whatever it is shown. Put a real one here."""
    judged = [judgement(name) for name in ("h1", "h2", "h3", "h4")]
    pool = {
        "type": "present",
        "text": f"Requests of checkout end with: {LINE}.",
        "fragment": LINE,
        "citations": [{"evidence": "E6", "pointer": "/lines/0/line", "quoted": LINE}],
    }
    diagnosis = {"verdict": "contributing_only", "root_cause": "The pool has none left.", "claims": [pool]}
    said = [
        Reply(content="", tool_calls=(call("prometheus_query_range", expression=PENDING),)),
        Reply(content="", tool_calls=tuple(judged)),
        Reply(content="The error lines say that the connection pool is used up."),
        Reply(content=json.dumps(diagnosis)),
    ]
    return create_model_investigator(ScriptedModel(said), ["scripted"])


def judgement(hypothesis: str) -> ToolCall:
    """Judge a hypothesis as a model would: with the evidence and a reason."""
    return call("judge", hypothesis=hypothesis, judgement="open", evidence=["E6"], reason="E6 says what fails, not why")


def call(tool: str, **arguments: object) -> ToolCall:
    """Write a tool call as a model would."""
    return ToolCall(call_id=f"call-{tool}", name=tool, arguments=json.dumps(arguments))


# ---- the host --------------------------------------------------------------------------------------------


async def investigate(run_id: str, investigator: Investigator, backend: RecordedBackend) -> None:
    """Run one investigation to its end, and ask for it again."""
    connectors = connect(backend)
    facts = facts_of(firing_since=backend.scenario.anchor, now=backend.scenario.ends_at)
    plan = propose_plan(facts, connectors, deadline_at=CLOCK.now() + timedelta(minutes=10))
    identity = Identity(workspace_id=WORKSPACE, task_id="checkout-errors", run_id=run_id, session_id="example")

    journal = MemoryJournal(WORKSPACE, CLOCK)
    await journal.open(Opening(investigation_id=run_id, episode_id=identity.task_id, session_id=identity.session_id))
    claimed = await journal.claim("this process", lease=timedelta(minutes=10))
    assert claimed is not None  # nobody else is here

    async def run() -> None:
        projection = await run_investigation(
            journal=journal,
            effects=journal,
            investigator=investigator,
            connectors=connectors,
            clock=CLOCK,
            identity=identity,
            fence=claimed.fence,
            facts=facts,
            plan=plan,
        )
        assert projection.diagnosis is not None
        asked = len(backend.journal)
        print(f"{run_id}: {projection.diagnosis.verdict}, {projection.canonical_digest()}, {asked} requests so far")
        print(f"  {projection.diagnosis.root_cause}")

    await run()
    await run()  # it has ended: the same projection, and nothing is asked
    for connector in connectors:
        await connector.aclose()


async def main() -> None:
    """Investigate the recorded incident twice."""
    with start(open_scenario("checkout_pool"), now=datetime.now(UTC)) as backend:
        await investigate("by-the-analyst", Analyst(), backend)
        await investigate("by-a-model", scripted(), backend)


if __name__ == "__main__":
    asyncio.run(main())
