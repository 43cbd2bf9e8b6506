"""Connectors of one workspace, from its integrations: a registry that can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from pydantic import SecretStr

from inquest.configuration.sections import IntegrationSection, ServiceSection
from inquest.connectors.gitlab import GitLabConfig, create_gitlab_connector
from inquest.connectors.loki import QUERY_ENDPOINTS as LOKI_ENDPOINTS
from inquest.connectors.loki import LokiConfig, create_loki_connector
from inquest.connectors.prometheus import QUERY_ENDPOINTS, PrometheusConfig, create_prometheus_connector
from inquest.domain.observation import Context
from inquest.errors import ConfigurationError
from inquest.ports import Clock, Connector
from inquest.wire.cursor import CursorKey
from inquest.wire.endpoint import Credential, Endpoint
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport

ONE_MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Plug:
    """What every connector is built from: its place in the configuration, and what the host lends it."""

    name: str
    workspace: str
    section: IntegrationSection
    credential: Credential
    secret_headers: Mapping[str, SecretStr]
    services: Mapping[str, ServiceSection]
    tool_prefix: str
    clock: Clock
    cursor_key: CursorKey
    redactor: Redactor

    @property
    def context(self) -> Context:
        """Give the pinned context; what the file leaves open is named after the integration."""
        pins = self.section.pins
        return Context(
            issuer=pins.issuer or self.section.type,
            audience=pins.audience or self.name,
            resource=pins.resource or self.section.url,
            tenant=pins.tenant or self.section.org_id or "",
            workspace=self.workspace,
            connector=self.name,
        )

    @property
    def external_url(self) -> str:
        """Give where a human opens the source."""
        return self.section.external_url or self.section.url

    def endpoint(self, headers: Mapping[str, str] | None = None) -> Endpoint:
        """Give the one place that its transport may talk to."""
        return Endpoint(
            base_url=self.section.url,
            ca_file=self.section.ca_file,
            headers=dict(headers or {}),
            secret_headers=dict(self.secret_headers),
        )


def prometheus(plug: Plug) -> Connector:
    """Build a Prometheus connector."""
    config = PrometheusConfig(
        name=plug.name,
        context=plug.context,
        url=plug.external_url,
        mandatory_matchers=plug.section.mandatory_matchers,
        step_ms=plug.section.scrape_interval // ONE_MS,
        tool_prefix=plug.tool_prefix,
    )
    transport = Transport(plug.endpoint(), plug.credential, post_to=QUERY_ENDPOINTS)
    return create_prometheus_connector(
        config, transport, clock=plug.clock, cursor_key=plug.cursor_key, redactor=plug.redactor
    )


def loki(plug: Plug) -> Connector:
    """Build a Loki connector."""
    config = LokiConfig(
        name=plug.name,
        context=plug.context,
        org_id=plug.section.org_id or "",
        mandatory_matchers=plug.section.mandatory_matchers,
        explore_url=plug.section.external_url,
        datasource=plug.section.datasource,
        max_scan_bytes=plug.section.max_scan_bytes,
        tool_prefix=plug.tool_prefix,
    )
    transport = Transport(plug.endpoint(config.headers), plug.credential, post_to=LOKI_ENDPOINTS)
    return create_loki_connector(
        config, transport, clock=plug.clock, cursor_key=plug.cursor_key, redactor=plug.redactor
    )


def gitlab(plug: Plug) -> Connector:
    """Build a GitLab connector."""
    if not plug.section.projects:
        msg = f"workspaces.{plug.workspace}.integrations.{plug.name}.projects: name the projects that may be read"
        raise ConfigurationError(msg)
    config = GitLabConfig(
        name=plug.name,
        context=plug.context,
        url=plug.external_url,
        projects=plug.section.projects,
        repositories={name: one.repository for name, one in plug.services.items() if one.repository},
        environments=plug.section.environments,
        tool_prefix=plug.tool_prefix,
    )
    transport = Transport(plug.endpoint(), plug.credential)
    return create_gitlab_connector(
        config, transport, clock=plug.clock, cursor_key=plug.cursor_key, redactor=plug.redactor
    )


CONNECTORS: dict[str, Callable[[Plug], Connector]] = {"prometheus": prometheus, "loki": loki, "gitlab": gitlab}
"""By the type that an integration names."""
