"""Everything of one workspace, built from its section of the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit

from pydantic import SecretStr

from inquest.bootstrap.destinations import DESTINATIONS, Outlet, messages_of
from inquest.bootstrap.naming import tool_prefixes
from inquest.bootstrap.paths import at, with_files_at
from inquest.bootstrap.problems import Problems
from inquest.bootstrap.secrets import Secrets, secrets_of
from inquest.bootstrap.sources import CONNECTORS, Plug
from inquest.configuration.destination import DestinationSection
from inquest.configuration.sections import (
    Configuration,
    IntakeSection,
    ServiceSection,
    WorkspaceSection,
)
from inquest.domain.budget import Limits
from inquest.domain.intake import (
    Auth,
    BasicAuth,
    BearerAuth,
    DailyCeilings,
    HeaderAuth,
    IntakeConfig,
    NoAuth,
    RetentionAges,
)
from inquest.domain.service import Service
from inquest.models.litellm_model import ModelAccess
from inquest.ports import Clock, Connector, Destination
from inquest.runtime.clock import FollowedClock
from inquest.runtime.keys import InstallationKey
from inquest.stages.tools import bound_tools
from inquest.wire.cursor import CursorKey
from inquest.wire.endpoint import Anonymous, Basic, Bearer, Credential, HeaderToken
from inquest.wire.redaction import Redactor

USD_MICROS = 1_000_000


@dataclass(frozen=True)
class Workspace:
    """One workspace as the processes use it. `redactor` knows every secret value of the configuration."""

    name: str
    intakes: tuple[IntakeConfig, ...]
    ceilings: DailyCeilings
    retention: RetentionAges
    connectors: tuple[Connector, ...]
    catalogue: tuple[Service, ...]
    destinations: Mapping[str, Destination]
    model: ModelAccess | None
    limits: Limits
    max_running: int
    redactor: Redactor
    clock: FollowedClock
    """By which its connectors date what they read; whoever knows the database's lets it follow that."""

    async def aclose(self) -> None:
        """Close the connections of its connectors."""
        for connector in self.connectors:
            await connector.aclose()


Workspaces = Mapping[str, Workspace]
"""By name."""


@dataclass(frozen=True)
class _Shared:
    """What the workspaces of one file have in common. `base` is the folder that its relative paths begin in."""

    key: InstallationKey
    clock: FollowedClock
    base: Path
    cursor_key: CursorKey
    redactor: Redactor
    max_usd_per_day: float | None


def build_workspaces(
    configuration: Configuration,
    *,
    key: InstallationKey,
    clock: Clock,
    base: Path,
    own_secrets: Sequence[str] = (),
) -> dict[str, Workspace]:
    """Build every workspace. Opens no connection.

    `base` is the folder that relative paths of the file begin in: the file's own. `own_secrets` are the
    process's, which are masked beside those of the file. Raises ConfigurationError
    with every problem, a line each, that names the field and the way out.
    """
    problems = Problems()
    secrets = {name: secrets_of(one, name, base, problems) for name, one in configuration.workspaces.items()}
    problems.check()
    values = [*own_secrets, *(value for one in secrets.values() for value in one.values())]
    cursor_key = CursorKey(key.derive("cursor"))
    shared = _Shared(key, FollowedClock(clock), base, cursor_key, Redactor(values), configuration.max_usd_per_day)
    built = {
        name: _workspace(name, section, secrets[name], shared, problems)
        for name, section in configuration.workspaces.items()
    }
    problems.check()
    return built


def _workspace(
    name: str, section: WorkspaceSection, secrets: Secrets, shared: _Shared, problems: Problems
) -> Workspace:
    place = f"workspaces.{name}"
    intakes, connectors = [], []
    destinations: dict[str, Destination] = {}
    for each, intake in section.intakes.items():
        with problems.of(f"{place}.intakes.{each}"):
            intakes.append(_intake(each, intake, name, section, _auth(secrets.intakes[each])))
    prefixes = tool_prefixes({each: one.type for each, one in section.integrations.items()})
    for each, integration in section.integrations.items():
        with problems.of(f"{place}.integrations.{each}"):
            plug = Plug(
                name=each,
                workspace=name,
                section=with_files_at(shared.base, integration),
                credential=secrets.integrations[each],
                secret_headers=secrets.headers[each],
                services=section.services,
                tool_prefix=prefixes[each],
                clock=shared.clock,
                cursor_key=shared.cursor_key,
                redactor=shared.redactor,
            )
            connectors.append(CONNECTORS[integration.type](plug))
    with problems.of(f"{place}.integrations"):
        bound_tools(connectors)  # two that offer a tool of one name are refused here, not at the first claim
    for each, destination in section.destinations.items():
        with problems.of(f"{place}.destinations.{each}"):
            token = secrets.destinations.get(each)
            outlet = _outlet(each, with_files_at(shared.base, destination), section, token, shared)
            destinations |= DESTINATIONS[destination.type](outlet)
    return Workspace(
        name=name,
        intakes=tuple(intakes),
        ceilings=_ceilings(section, shared.max_usd_per_day),
        retention=RetentionAges(investigations=section.retention.investigations, intake=section.retention.intake),
        connectors=tuple(connectors),
        catalogue=tuple(_service(service, one) for service, one in section.services.items()),
        destinations=destinations,
        model=secrets.model,
        limits=_limits(section),
        max_running=section.budgets.max_running,
        redactor=shared.redactor,
        clock=shared.clock,
    )


def _intake(name: str, section: IntakeSection, workspace: str, whole: WorkspaceSection, auth: Auth) -> IntakeConfig:
    return IntakeConfig(
        name=name,
        type=section.type,
        workspace=workspace,
        auth=auth,
        group_by=section.group_by,
        unstable_labels=section.unstable_labels,
        quiet_for=section.quiet_for,
        cooldown=section.cooldown,
        stale_after=section.stale_after,
        max_new_per_hour=whole.budgets.max_new_per_hour,
        destinations=_route(name, whole),
    )


def _auth(given: Credential) -> Auth:
    match given:
        case Bearer(token=token):
            return BearerAuth(tokens=(token,))
        case Basic(username=username, password=password):
            return BasicAuth(username=username, passwords=(password,))
        case Anonymous():
            return NoAuth()
        case HeaderToken(header=header, token=token):
            return HeaderAuth(header=header, tokens=(token,))
        case unknown:
            assert_never(unknown)


def _route(intake: str, whole: WorkspaceSection) -> tuple[str, ...]:
    """Give where reports on an intake's posts go, message by message.

    These are the destinations of the first route that takes its posts; without routes, every destination.
    """
    taken = next((route.to for route in whole.routes if not route.intakes or intake in route.intakes), ())
    messages = messages_of(whole.destinations)
    return tuple(message for name in (taken if whole.routes else whole.destinations) for message in messages[name])


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


def _outlet(
    name: str, section: DestinationSection, whole: WorkspaceSection, token: SecretStr | None, shared: _Shared
) -> Outlet:
    """Give what a destination is built from. Links may go to the sources of the workspace, and where its section says."""
    sources = {urlsplit(one.external_url or one.url).hostname or "" for one in whole.integrations.values()}
    return Outlet(
        name=name,
        section=section,
        token=token,
        folder=at(shared.base, section.path),
        signer=shared.key,
        link_hosts=tuple(sorted({*sources, *section.allowed_link_hosts} - {""})),
    )


def _ceilings(section: WorkspaceSection, of_all: float | None) -> DailyCeilings:
    """Give what a day may cost, here and in all workspaces; the analyst costs nothing, so nothing waits for it."""
    if not section.model.names:
        return DailyCeilings()
    return DailyCeilings(
        workspace_usd_micros=int(section.budgets.max_usd_per_day * USD_MICROS),
        installation_usd_micros=None if of_all is None else int(of_all * USD_MICROS),
    )


def _limits(section: WorkspaceSection) -> Limits:
    budgets = section.budgets
    limits = Limits(
        max_model_turns=budgets.max_model_turns,
        max_connector_effects=budgets.max_connector_effects,
        wall_clock_s=int(budgets.wall_clock.total_seconds()),
        max_tokens=budgets.max_tokens,
        max_usd_micros=int(budgets.max_usd * USD_MICROS),
        max_questions=budgets.max_questions,
    )
    window = section.model.context_window_tokens
    return limits if window is None else limits.but(context_window_tokens=window)
