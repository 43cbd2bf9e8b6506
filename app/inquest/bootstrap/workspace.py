"""Everything of one workspace, built from its section of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from inquest.bootstrap.sources import CONNECTORS, Plug, credential
from inquest.configuration.sections import (
    Configuration,
    DestinationSection,
    IntakeSection,
    ModelSection,
    RouteSection,
    ServiceSection,
    WorkspaceSection,
)
from inquest.destinations.folder import FolderConfig, create_folder_destination
from inquest.domain.budget import Limits
from inquest.domain.intake import Auth, BasicAuth, BearerAuth, DailyCeilings, IntakeConfig, NoAuth
from inquest.domain.service import Service
from inquest.errors import ConfigurationError
from inquest.models.litellm_model import ModelAccess
from inquest.models.pricing import Price
from inquest.ports import Clock, Connector, Destination
from inquest.runtime.keys import InstallationKey
from inquest.settings import secret
from inquest.wire.cursor import CursorKey
from inquest.wire.endpoint import Anonymous, Basic, Bearer, Credential, secret_values
from inquest.wire.redaction import Redactor

USD_MICROS = 1_000_000


@dataclass(frozen=True)
class Workspace:
    """One workspace as the processes use it. `redactor` knows every secret value of the configuration."""

    name: str
    intakes: tuple[IntakeConfig, ...]
    ceilings: DailyCeilings
    connectors: tuple[Connector, ...]
    catalogue: tuple[Service, ...]
    destinations: Mapping[str, Destination]
    model: ModelAccess | None
    limits: Limits
    max_running: int
    redactor: Redactor

    async def aclose(self) -> None:
        """Close the connections of its connectors."""
        for connector in self.connectors:
            await connector.aclose()


def build_workspaces(
    configuration: Configuration, *, key: InstallationKey, clock: Clock, base: Path
) -> dict[str, Workspace]:
    """Build every workspace. Opens no connection. Raises ConfigurationError naming the field and the way out.

    `base` is the folder that relative paths of the file begin in: the file's own.
    """
    credentials = {
        (workspace, name): credential(one.credential, f"workspaces.{workspace}.integrations.{name}.credential")
        for workspace, section in configuration.workspaces.items()
        for name, one in section.integrations.items()
    }
    models = {name: _model(section.model, name) for name, section in configuration.workspaces.items()}
    redactor = Redactor(_secrets(credentials, models))
    cursor_key = CursorKey(key.derive("cursor"))
    return {
        name: Workspace(
            name=name,
            intakes=tuple(_intake(intake, one, name, section) for intake, one in section.intakes.items()),
            ceilings=DailyCeilings(workspace_usd_micros=int(section.budgets.max_usd_per_day * USD_MICROS)),
            connectors=tuple(
                CONNECTORS[one.type](
                    Plug(
                        integration,
                        name,
                        one,
                        credentials[name, integration],
                        section.services,
                        clock,
                        cursor_key,
                        redactor,
                    )
                )
                for integration, one in section.integrations.items()
            ),
            catalogue=tuple(_service(service, one) for service, one in section.services.items()),
            destinations={
                each: _destination(each, one, section, base, key) for each, one in section.destinations.items()
            },
            model=models[name],
            limits=_limits(section),
            max_running=section.budgets.max_running,
            redactor=redactor,
        )
        for name, section in configuration.workspaces.items()
    }


def _secrets(credentials: Mapping[tuple[str, str], Credential], models: Mapping[str, ModelAccess | None]) -> list[str]:
    values = [value for one in credentials.values() for value in secret_values(one)]
    return values + [one.api_key.get_secret_value() for one in models.values() if one is not None and one.api_key]


def _intake(name: str, section: IntakeSection, workspace: str, whole: WorkspaceSection) -> IntakeConfig:
    try:
        return IntakeConfig(
            name=name,
            type=section.type,
            workspace=workspace,
            auth=_auth(section, f"workspaces.{workspace}.intakes.{name}.auth"),
            group_by=section.group_by,
            unstable_labels=section.unstable_labels,
            quiet_for=section.quiet_for,
            cooldown=section.cooldown,
            stale_after=section.stale_after,
            max_new_per_hour=whole.budgets.max_new_per_hour,
            destinations=_route(name, whole.routes, tuple(whole.destinations)),
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        msg = f"workspaces.{workspace}.intakes.{name}.{field}: {first['msg']}"
        raise ConfigurationError(msg) from None


def _auth(section: IntakeSection, field: str) -> Auth:
    match credential(section.auth, field):
        case Bearer(token=token):
            return BearerAuth(tokens=(token,))
        case Basic(username=username, password=password):
            return BasicAuth(username=username, passwords=(password,))
        case Anonymous():
            return NoAuth()
        case _:
            msg = f"{field}: an intake takes bearer_* or basic_*, no header token"
            raise ConfigurationError(msg)


def _route(intake: str, routes: tuple[RouteSection, ...], every: tuple[str, ...]) -> tuple[str, ...]:
    """Give the destinations of the first route that an intake's posts take; without routes, every destination."""
    if not routes:
        return every
    return next((route.to for route in routes if not route.intakes or intake in route.intakes), ())


def _service(name: str, section: ServiceSection) -> Service:
    return Service(
        name=name,
        match=section.match,
        matchers={
            kind: labels for kind, labels in (("prometheus", section.prometheus), ("loki", section.loki)) if labels
        },
        namespace=section.kubernetes.namespace,
        workload=section.kubernetes.workload,
        repository=section.repository,
        depends_on=section.depends_on,
    )


def _destination(
    name: str, section: DestinationSection, whole: WorkspaceSection, base: Path, key: InstallationKey
) -> Destination:
    """Build a destination. Links may go to the sources of the workspace, and to what its section allows."""
    folder = (base / Path(section.path).expanduser()).absolute()
    sources = {urlsplit(one.external_url or one.url).hostname or "" for one in whole.integrations.values()}
    hosts = sorted({*sources, *section.allowed_link_hosts} - {""})
    return create_folder_destination(name, FolderConfig(path=str(folder)), signer=key, link_hosts=hosts)


def _model(section: ModelSection, workspace: str) -> ModelAccess | None:
    if not section.names:
        return None
    field = f"workspaces.{workspace}.model.api_key"
    return ModelAccess(
        names=section.names,
        base_url=section.base_url,
        api_key=secret(env=section.api_key_env, file=section.api_key_file, field=field),
        context_window_tokens=section.context_window_tokens,
        price=Price(input_usd=section.price.input_usd, output_usd=section.price.output_usd) if section.price else None,
    )


def _limits(section: WorkspaceSection) -> Limits:
    budgets = section.budgets
    limits = Limits(
        max_model_turns=budgets.max_model_turns,
        max_connector_effects=budgets.max_connector_effects,
        wall_clock_s=int(budgets.wall_clock.total_seconds()),
        max_tokens=budgets.max_tokens,
        max_usd_micros=int(budgets.max_usd * USD_MICROS),
    )
    window = section.model.context_window_tokens
    return limits if window is None else limits.but(context_window_tokens=window)
