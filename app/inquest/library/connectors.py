"""The connectors, made from a configuration and a transport alone: what else they need, a host may leave to us."""

from __future__ import annotations

import secrets

from inquest.connectors import gitlab, loki, prometheus
from inquest.connectors.gitlab import GitLabConfig, GitLabConnector
from inquest.connectors.loki import LokiConfig, LokiConnector
from inquest.connectors.prometheus import PrometheusConfig, PrometheusConnector
from inquest.ports import Clock
from inquest.runtime.clock import SystemClock
from inquest.wire.cursor import CursorKey
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport

CURSOR_KEY_BYTES = 32


def create_prometheus_connector(
    config: PrometheusConfig,
    transport: Transport,
    *,
    clock: Clock | None = None,
    cursor_key: CursorKey | None = None,
    redactor: Redactor | None = None,
) -> PrometheusConnector:
    """Give the connector of one Prometheus.

    `transport` is to the API's prefix and may post to PROMETHEUS_ENDPOINTS. Left out, `clock` is this machine's,
    `cursor_key` is a key of this connector alone, and `redactor` knows the formats of secrets but no values.
    Closing the connector closes the transport.
    """
    clock, cursor_key = clock or SystemClock(), cursor_key or _own_key()
    return prometheus.create_prometheus_connector(
        config, transport, clock=clock, cursor_key=cursor_key, redactor=redactor
    )


def create_loki_connector(
    config: LokiConfig,
    transport: Transport,
    *,
    clock: Clock | None = None,
    cursor_key: CursorKey | None = None,
    redactor: Redactor | None = None,
) -> LokiConnector:
    """Give the connector of one Loki.

    `transport` is to what stands before /loki/api/v1, sends `config.headers` and may post to LOKI_ENDPOINTS. The
    rest as for `create_prometheus_connector`.
    """
    clock, cursor_key = clock or SystemClock(), cursor_key or _own_key()
    return loki.create_loki_connector(config, transport, clock=clock, cursor_key=cursor_key, redactor=redactor)


def create_gitlab_connector(
    config: GitLabConfig,
    transport: Transport,
    *,
    clock: Clock | None = None,
    cursor_key: CursorKey | None = None,
    redactor: Redactor | None = None,
) -> GitLabConnector:
    """Give the connector of one GitLab.

    `transport` is to what stands before /api/v4 and sends the token in GITLAB_TOKEN_HEADER. The rest as for
    `create_prometheus_connector`.
    """
    clock, cursor_key = clock or SystemClock(), cursor_key or _own_key()
    return gitlab.create_gitlab_connector(config, transport, clock=clock, cursor_key=cursor_key, redactor=redactor)


def _own_key() -> CursorKey:
    return CursorKey(secrets.token_bytes(CURSOR_KEY_BYTES))
