import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from inquest.connectors.loki import QUERY_ENDPOINTS, LokiConfig, create_loki_connector
from inquest.domain.failure import FailureCode
from inquest.domain.observation import QueryBudget
from inquest.domain.value import Json
from inquest.ports import Connector
from inquest.wire.endpoint import Bearer, Endpoint
from inquest.wire.transport import Transport
from tests.connectors.contract import ConnectorContract
from tests.connectors.harness import NOW, Fails, Grip, Pages
from tests.fakes.loki import STATS, Kept, refusal, route, serve, stats, stream, streams, success
from tests.fakes.loopback import Act, Handler, Hang, Reply, Seen

EXPRESSION = '{app="web"} |= "timeout"'
AT_NS = 1_772_366_000_000_000_001


def answers(text: str = "connection timeout") -> dict[str, Reply]:
    """Give the answer of each endpoint, with `text` where a source passes on other people's words."""
    labels = {"app": "web", "said": text, "tenant": "shop"}
    return {
        "query_range": success(streams(stream(labels, (AT_NS + 1, text), (AT_NS, text)))),
        "series": success([{"app": text, "tenant": "shop"}, {"app": "api", "tenant": "shop"}]),
        "stats": stats(),
    }


class LokiHarness:
    source = "src"
    vendor = "loki"
    arguments: Mapping[str, Mapping[str, Json]] = {
        "loki_query": {"expression": EXPRESSION},
        "loki_labels": {"label": "app"},
        "loki_volume": {"selector": '{app="web"}'},
    }
    foreign_texts: Mapping[str, Sequence[str]] = {
        "loki_query": ["expression"],
        "loki_labels": ["label", "selector", "search"],
        "loki_volume": ["selector"],
    }
    post_paths = frozenset("/" + "/".join(path) for path in QUERY_ENDPOINTS)
    cannot_fail_as: frozenset[FailureCode] = frozenset()
    own_statuses: Mapping[int, FailureCode] = {502: FailureCode.TIMEOUT}
    holds_no_text = frozenset({"loki_volume"})

    def connect(self, grip: Grip) -> Connector:
        config = LokiConfig(
            name="src",
            context=grip.context,
            org_id=grip.context.tenant,
            mandatory_matchers={"tenant": "shop"},
            explore_url=grip.public_url,
        )
        transport = Transport(
            Endpoint(base_url=grip.url, headers=config.headers),
            Bearer(token=grip.secret),
            post_to=QUERY_ENDPOINTS,
        )
        return create_loki_connector(
            config, transport, clock=grip.clock, cursor_key=grip.cursor_key, redactor=grip.redactor
        )

    def good(self, seen: Seen) -> Act:
        if route(seen) == "labels":
            return success(["app", "tenant"])
        return serve(answers(), seen)

    def good_json(self, tool: str) -> Json:
        endpoint = {"loki_query": "query_range", "loki_labels": "series"}.get(tool)
        found: Json = STATS if endpoint is None else json.loads(answers()[endpoint].body)
        return found

    def telling(self, text: str) -> Handler:
        said = answers(text)
        return lambda seen: serve(said, seen)

    def fails(self) -> Mapping[FailureCode, Fails]:
        limited = Reply(429, b"too many outstanding requests", {"Content-Type": "text/plain", "Retry-After": "7"})
        return {
            FailureCode.INVALID_QUERY: Fails(refusal(400, "parse error at line 1, col 3: syntax error")),
            FailureCode.CONTEXT_MISMATCH: Fails(refusal(401, "no org id")),
            FailureCode.SCHEMA_DRIFT: Fails(success({"resultType": "vectors", "result": []})),
            FailureCode.CAPABILITY_DENIED: Fails(refusal(403, "forbidden")),
            FailureCode.CANCELLED: Fails(refusal(499, "context canceled")),
            FailureCode.TIMEOUT: Fails(Hang(), budget=QueryBudget(timeout_ms=200)),
            FailureCode.RATE_LIMITED: Fails(limited),
            FailureCode.MALFORMED_RESULT: Fails(Reply(200, b"{")),
            FailureCode.BUDGET_EXHAUSTED: Fails(stats(bytes=10**13), tool="loki_query"),
            FailureCode.PROVIDER_ERROR: Fails(refusal(500, "the ingester is on fire")),
        }

    def partial(self) -> Fails | None:
        warned = json.loads(answers()["query_range"].body) | {"warnings": ["one ingester is away"]}
        return Fails(
            lambda seen: serve({**answers(), "query_range": Reply(200, json.dumps(warned).encode())}, seen),
            tool="loki_query",
        )

    def pages(self) -> Pages | None:
        # One line a page is the smallest there is; the contract asks for the default 500, so there are many.
        end_ns = int(NOW.timestamp()) * 10**9
        lines = [(end_ns - index * 10**6, {"app": "web", "tenant": "shop"}, f"line {index}") for index in range(2_000)]
        return Pages("loki_query", Kept(lines))

    def asked_window(self, tool: str, seen: Sequence[Seen]) -> tuple[datetime | None, datetime] | None:
        return moment(seen[-1].param("start")), moment(seen[-1].param("end"))


def moment(nanoseconds: str) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(nanoseconds) // 1000)


class TestLoki(ConnectorContract):
    harness = LokiHarness()
