"""Prometheus and what speaks its API (VictoriaMetrics, Thanos, Mimir): metrics, rules and alerts. Read only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import urlencode

from inquest.connectors.prometheus import describe
from inquest.connectors.prometheus.answers import read_envelope
from inquest.connectors.prometheus.config import QUERY, QUERY_ENDPOINTS, PrometheusConfig
from inquest.connectors.prometheus.operations import Operations
from inquest.domain.failure import Failure
from inquest.domain.observation import Context, Query
from inquest.ports import Clock, Tool
from inquest.wire.cursor import CursorKey
from inquest.wire.promql.printer import duration
from inquest.wire.read_tool import Grounds, ReadTool
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport

__all__ = ["QUERY_ENDPOINTS", "PrometheusConfig", "PrometheusConnector", "create_prometheus_connector"]

HEALTH_TIMEOUT_S = 3.0


def create_prometheus_connector(
    config: PrometheusConfig,
    transport: Transport,
    *,
    clock: Clock,
    cursor_key: CursorKey,
    redactor: Redactor | None = None,
) -> PrometheusConnector:
    """Give the connector of one integration.

    `transport` is to the API's prefix and may post to QUERY_ENDPOINTS; `redactor` knows the configured
    secret values. Closing the connector closes the transport.
    """
    grounds = Grounds(
        context=config.context,
        transport=transport,
        clock=clock,
        cursor_key=cursor_key,
        redactor=redactor or Redactor(),
    )
    do = Operations(config)
    return PrometheusConnector(
        config,
        transport,
        clock,
        (
            ReadTool(describe.query_range(config), grounds, arrange=do.range_arguments, fetch=do.over_time),
            ReadTool(describe.query(config), grounds, arrange=do.instant_arguments, fetch=do.instant),
            ReadTool(describe.labels(config), grounds, arrange=do.selector_arguments, fetch=do.labels),
            ReadTool(describe.series(config), grounds, arrange=do.selector_arguments, fetch=do.series),
            ReadTool(describe.metadata(config), grounds, arrange=do.search_arguments, fetch=do.metadata),
            ReadTool(describe.rules(config), grounds, arrange=do.search_arguments, fetch=do.rules),
            ReadTool(describe.alerts(config), grounds, arrange=do.search_arguments, fetch=do.alerts),
        ),
    )


class PrometheusConnector:
    """One integration with Prometheus (ports.Connector)."""

    type = "prometheus"

    def __init__(self, config: PrometheusConfig, transport: Transport, clock: Clock, tools: Sequence[Tool]) -> None:
        self._config = config
        self._transport = transport
        self._clock = clock
        self.tools = tools

    @property
    def name(self) -> str:
        """Give the integration's name."""
        return self._config.name

    @property
    def context(self) -> Context:
        """Give the pinned context."""
        return self._config.context

    def link(self, query: Query) -> str:
        """Give the page of Prometheus that shows `query` at its time range, "" for what has no page."""
        base, window = self._config.url.rstrip("/"), query.time_range
        operation = query.tool.removeprefix(f"{self._config.tool_prefix}_")
        if operation in {"rules", "alerts"}:
            return f"{base}/{operation}"
        shown = query.arguments.get("expression", query.arguments.get("selector"))
        if not isinstance(shown, str):
            return ""
        end = window.end.strftime("%Y-%m-%d %H:%M:%S")
        pairs = {"g0.expr": shown, "g0.tab": "0", "g0.range_input": duration(window.length), "g0.end_input": end}
        if operation == "query":
            pairs = {"g0.expr": shown, "g0.tab": "1", "g0.moment_input": end}
        return f"{base}/graph?{urlencode(pairs)}"

    async def health(self) -> Literal["ok", "failing"]:
        """Ask for the value of 1: the cheapest question that passes every door of the source."""
        answer = await self._transport.get(QUERY, [("query", "1")], timeout_s=HEALTH_TIMEOUT_S)
        if isinstance(answer, Failure):
            return "failing"
        return "failing" if isinstance(read_envelope(answer, now=self._clock.now()), Failure) else "ok"

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()
