from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from inquest.connectors.prometheus import QUERY_ENDPOINTS, PrometheusConfig, create_prometheus_connector
from inquest.domain.failure import FailureCode
from inquest.domain.observation import QueryBudget
from inquest.domain.value import Json
from inquest.ports import Connector
from inquest.wire.endpoint import Bearer, Endpoint
from inquest.wire.transport import Transport
from tests.connectors.contract import ConnectorContract
from tests.connectors.harness import Fails, Grip, Pages
from tests.fakes.loopback import Act, Handler, Hang, Reply, Seen
from tests.fakes.prometheus import error, recorded, serve, success

LABELS: Json = {"__name__": "up", "job": "web", "tenant": "shop"}
EXPRESSION = 'max by (job, tenant) (up{job!=""})'


def answers(text: str = "web") -> dict[str, Json]:
    """Give the data of each endpoint, with `text` where a source passes on other people's words."""
    labels: Json = {"__name__": "up", "job": text, "tenant": "shop"}
    return {
        "query": {"resultType": "vector", "result": [{"metric": labels, "value": [1772366400.25, "1"]}]},
        "query_range": {"resultType": "matrix", "result": [{"metric": labels, "values": [[1772359200, "1"], [1772359260, "NaN"]]}]},
        "series": [labels],
        "labels": ["job", text],
        "values": [text, "up"],
        "metadata": {"up": [{"type": "gauge", "help": text, "unit": ""}]},
        "rules": {
            "groups": [
                {"name": text, "rules": [{"name": "Down", "query": "up == 0", "duration": 60, "type": "alerting", "state": "firing",
                                          "labels": {"tenant": "shop"}, "annotations": {"summary": text}, "alerts": []}]}
            ]
        },
        "alerts": {
            "alerts": [{"labels": {"alertname": "Down", "tenant": "shop"}, "annotations": {"summary": text}, "state": "firing",
                        "activeAt": "2026-03-01T11:00:00.5Z", "value": "0e+00"}]
        },
    }  # fmt: skip


class PrometheusHarness:
    source = "src"
    vendor = "prometheus"
    arguments: Mapping[str, Mapping[str, Json]] = {
        "prometheus_query": {"expression": EXPRESSION},
        "prometheus_query_range": {"expression": EXPRESSION},
        "prometheus_series": {"selector": 'up{job!=""}'},
        "prometheus_labels": {"label": "job"},
        "prometheus_metadata": {},
        "prometheus_rules": {},
        "prometheus_alerts": {},
    }
    foreign_texts: Mapping[str, Sequence[str]] = {
        "prometheus_query": ["expression"],
        "prometheus_query_range": ["expression"],
        "prometheus_series": ["selector"],
        "prometheus_labels": ["label", "selector", "search"],
        "prometheus_metadata": ["search"],
        "prometheus_rules": ["search"],
        "prometheus_alerts": ["search"],
    }
    post_paths = frozenset("/" + "/".join(path) for path in QUERY_ENDPOINTS)
    cannot_fail_as: frozenset[FailureCode] = frozenset()
    own_statuses: Mapping[int, FailureCode] = {}
    holds_no_text: frozenset[str] = frozenset()

    def connect(self, grip: Grip) -> Connector:
        config = PrometheusConfig(
            name="src", context=grip.context, url=grip.public_url, mandatory_matchers={"tenant": "shop"}
        )
        transport = Transport(Endpoint(base_url=grip.url), Bearer(token=grip.secret), post_to=QUERY_ENDPOINTS)
        return create_prometheus_connector(
            config, transport, clock=grip.clock, cursor_key=grip.cursor_key, redactor=grip.redactor
        )

    def good(self, seen: Seen) -> Act:
        return serve({name: success(data) for name, data in answers().items()}, seen)

    def good_json(self, tool: str) -> Json:
        endpoint = {"prometheus_labels": "values"}.get(tool, tool.removeprefix("prometheus_"))
        return {"status": "success", "data": answers()[endpoint]}

    def telling(self, text: str) -> Handler:
        said = {name: success(data) for name, data in answers(text).items()}
        return lambda seen: serve(said, seen)

    def fails(self) -> Mapping[FailureCode, Fails]:
        limited = Reply(429, b"slow down", {"Content-Type": "text/plain", "Retry-After": "7"})
        return {
            FailureCode.INVALID_QUERY: Fails(recorded("query_type_error")),
            FailureCode.CONTEXT_MISMATCH: Fails(Reply(401, b"no org id", {"Content-Type": "text/plain"})),
            FailureCode.SCHEMA_DRIFT: Fails(success({"resultType": "matrices", "result": []})),
            FailureCode.CAPABILITY_DENIED: Fails(Reply(403, b"forbidden", {"Content-Type": "text/plain"})),
            FailureCode.CANCELLED: Fails(error(503, "canceled", "query was canceled in query execution")),
            FailureCode.TIMEOUT: Fails(Hang(), budget=QueryBudget(timeout_ms=200)),
            FailureCode.RATE_LIMITED: Fails(limited),
            FailureCode.MALFORMED_RESULT: Fails(Reply(200, b"{")),
            FailureCode.BUDGET_EXHAUSTED: Fails(
                error(422, "execution", "query processing would load too many samples into memory in query execution")
            ),
            FailureCode.PROVIDER_ERROR: Fails(recorded("admin_disabled")),
        }

    def partial(self) -> Fails | None:
        return Fails(
            success(answers()["query_range"], warnings=["remote read: store 2 is away"]), tool="prometheus_query_range"
        )

    def pages(self) -> Pages | None:
        return None

    def asked_window(self, tool: str, seen: Sequence[Seen]) -> tuple[datetime | None, datetime] | None:
        match tool:
            case "prometheus_rules" | "prometheus_alerts":
                return None
            case "prometheus_query":
                return None, moment(seen[0].param("time"))
            case _:
                return moment(seen[0].param("start")), moment(seen[0].param("end"))


def moment(seconds: str) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC)


class TestPrometheus(ConnectorContract):
    harness = PrometheusHarness()
