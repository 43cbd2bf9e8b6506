"""Loki: log lines, counts of them, and what there is to ask for. Read only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from urllib.parse import urlencode

from inquest.connectors.loki import describe
from inquest.connectors.loki.answers import read_envelope
from inquest.connectors.loki.asking import times
from inquest.connectors.loki.config import LABELS, QUERY_ENDPOINTS, LokiConfig
from inquest.connectors.loki.lookups import Lookups
from inquest.connectors.loki.queries import Queries
from inquest.domain.failure import Failure
from inquest.domain.observation import Context, Query
from inquest.domain.value import epoch_ms
from inquest.domain.window import Window
from inquest.ports import Clock, Tool
from inquest.wire.cursor import CursorKey
from inquest.wire.read_tool import Grounds, ReadTool
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport

__all__ = ["QUERY_ENDPOINTS", "LokiConfig", "LokiConnector", "create_loki_connector"]

HEALTH_TIMEOUT_S = 3.0
HEALTH_RANGE = timedelta(minutes=5)


def create_loki_connector(
    config: LokiConfig,
    transport: Transport,
    *,
    clock: Clock,
    cursor_key: CursorKey,
    redactor: Redactor | None = None,
) -> LokiConnector:
    """Give the connector of one integration.

    `transport` is to what stands before /loki/api/v1, sends `config.headers` with every request, and may post
    to QUERY_ENDPOINTS; `redactor` knows the configured secret values. Closing the connector closes the
    transport.
    """
    grounds = Grounds(
        context=config.context,
        transport=transport,
        clock=clock,
        cursor_key=cursor_key,
        redactor=redactor or Redactor(),
    )
    queries, lookups = Queries(config), Lookups(config)
    return LokiConnector(
        config,
        transport,
        clock,
        (
            ReadTool(describe.query(config), grounds, arrange=queries.arguments, fetch=queries.read),
            ReadTool(describe.labels(config), grounds, arrange=lookups.labels_arguments, fetch=lookups.labels),
            ReadTool(describe.volume(config), grounds, arrange=lookups.volume_arguments, fetch=lookups.volume),
        ),
    )


class LokiConnector:
    """One integration with Loki (ports.Connector)."""

    type = "loki"

    def __init__(self, config: LokiConfig, transport: Transport, clock: Clock, tools: Sequence[Tool]) -> None:
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
        """Give the page of Grafana's Explore that shows `query` at its time range; "" without a Grafana.

        Loki has no pages of its own. The form of the address is that of Grafana 10 and later.
        """
        shown = query.arguments.get("expression", query.arguments.get("selector"))
        if not self._config.explore_url or not isinstance(shown, str):
            return ""
        source = {"type": "loki", "uid": self._config.datasource}
        start, end = epoch_ms(query.time_range.start), epoch_ms(query.time_range.end)
        pane = {
            "datasource": self._config.datasource,
            "queries": [{"refId": "A", "datasource": source, "expr": shown}],
            "range": {"from": str(start), "to": str(end)},
        }
        panes = json.dumps({"a": pane}, separators=(",", ":"))
        return f"{self._config.explore_url.rstrip('/')}/explore?{urlencode({'schemaVersion': 1, 'panes': panes})}"

    async def health(self) -> Literal["ok", "failing"]:
        """Ask for the label names of the last minutes: the cheapest question that passes every door of the source."""
        now = self._clock.now()
        pairs = times(Window(start=now - HEALTH_RANGE, end=now))
        answer = await self._transport.get(LABELS, pairs, timeout_s=HEALTH_TIMEOUT_S)
        if isinstance(answer, Failure):
            return "failing"
        return "failing" if isinstance(read_envelope(answer, now=now), Failure) else "ok"

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()
