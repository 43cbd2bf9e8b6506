"""The connectors, made from a configuration and a transport alone: what else they need, a host may leave to us."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from inquest.connectors import gitlab, loki, prometheus
from inquest.connectors.gitlab import GitLabConfig
from inquest.connectors.loki import LokiConfig
from inquest.connectors.prometheus import PrometheusConfig
from inquest.errors import ConfigurationError
from inquest.ports import Clock, Connector
from inquest.runtime.clock import SystemClock
from inquest.wire.cursor import CursorKey
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Segments, Transport

CURSOR_KEY_BYTES = 32


def create_prometheus_connector(
    config: PrometheusConfig,
    transport: Transport,
    *,
    clock: Clock | None = None,
    cursor_key: CursorKey | None = None,
    redactor: Redactor | None = None,
) -> Connector:
    """Give the connector of one Prometheus.

    `transport` is to the API's prefix and may post to PROMETHEUS_ENDPOINTS. Left out, `clock` is this machine's,
    `cursor_key` is a key of this connector alone, and `redactor` knows the formats of secrets and the credential
    of `transport`. Closing the connector closes the transport.

    Raises ConfigurationError where `transport` may not post to what it must.
    """
    _check_posts(config.name, transport, prometheus.QUERY_ENDPOINTS, "PROMETHEUS_ENDPOINTS")
    return prometheus.create_prometheus_connector(
        config,
        transport,
        clock=clock or SystemClock(),
        cursor_key=cursor_key or _own_key(),
        redactor=redactor or Redactor(transport.secrets),
    )


def create_loki_connector(
    config: LokiConfig,
    transport: Transport,
    *,
    clock: Clock | None = None,
    cursor_key: CursorKey | None = None,
    redactor: Redactor | None = None,
) -> Connector:
    """Give the connector of one Loki.

    `transport` is to what stands before /loki/api/v1, sends `config.headers` and may post to LOKI_ENDPOINTS. The
    rest as for `create_prometheus_connector`.

    Raises ConfigurationError where `transport` sends no or another tenant, or may not post to what it must.
    """
    _check_posts(config.name, transport, loki.QUERY_ENDPOINTS, "LOKI_ENDPOINTS")
    if not transport.sends(config.headers):
        raise ConfigurationError(f"{config.name}: the transport does not send org_id: Endpoint(headers=config.headers)")
    return loki.create_loki_connector(
        config,
        transport,
        clock=clock or SystemClock(),
        cursor_key=cursor_key or _own_key(),
        redactor=redactor or Redactor(transport.secrets),
    )


def create_gitlab_connector(
    config: GitLabConfig,
    transport: Transport,
    *,
    clock: Clock | None = None,
    cursor_key: CursorKey | None = None,
    redactor: Redactor | None = None,
) -> Connector:
    """Give the connector of one GitLab.

    `transport` is to what stands before /api/v4 and sends the token in GITLAB_TOKEN_HEADER. The rest as for
    `create_prometheus_connector`; it posts nothing and raises nothing.
    """
    return gitlab.create_gitlab_connector(
        config,
        transport,
        clock=clock or SystemClock(),
        cursor_key=cursor_key or _own_key(),
        redactor=redactor or Redactor(transport.secrets),
    )


def _check_posts(name: str, transport: Transport, endpoints: Collection[Segments], constant: str) -> None:
    if not transport.may_post_to(endpoints):
        raise ConfigurationError(f"{name}: the transport may not post its queries: Transport(.., post_to={constant})")


def _own_key() -> CursorKey:
    return CursorKey(secrets.token_bytes(CURSOR_KEY_BYTES))
