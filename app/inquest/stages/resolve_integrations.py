"""Stage 1: what this workspace has connected, with its last known health, and which service this is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquest.domain.investigation import ConnectedSource, Integrations, IntegrationsResolved, Investigation
from inquest.domain.service import Service, dependency_matchers, resolve_service

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from inquest.domain.episode import Episode
    from inquest.ports import Acts, Connector
    from inquest.stages.kit import Stage

    Health = Mapping[str, Literal["ok", "failing", "unknown"]]

MAX_SOURCES = 64


@dataclass(frozen=True)
class ResolveKit:
    """`health` is what the last check of each integration found, by name."""

    connectors: Sequence[Connector]
    catalogue: tuple[Service, ...]
    health: Health


def bind(kit: ResolveKit, acts: Acts) -> Stage:  # noqa: ARG001  # every stage is bound alike; this one does not act
    """Give stage 1 as a function of the state."""

    async def resolve_integrations(state: Investigation) -> IntegrationsResolved:
        return IntegrationsResolved(integrations=integrations_of(state.episode, kit))

    return resolve_integrations


def integrations_of(episode: Episode, kit: ResolveKit) -> Integrations:
    """Say what is connected, and which service the alerts of `episode` are about."""
    service = resolve_service({**episode.primary.alert.labels, **episode.common_labels}, kit.catalogue)
    return Integrations(
        sources=connected_sources(kit.connectors, kit.health),
        service=service,
        dependencies=dependency_matchers(service, kit.catalogue),
    )


def connected_sources(connectors: Sequence[Connector], health: Health) -> tuple[ConnectedSource, ...]:
    """Describe what is connected, the first MAX_SOURCES."""
    return tuple(_describe(connector, health.get(connector.name, "unknown")) for connector in connectors[:MAX_SOURCES])


def _describe(connector: Connector, health: Literal["ok", "failing", "unknown"]) -> ConnectedSource:
    specs = [tool.spec for tool in connector.tools]
    return ConnectedSource(
        name=connector.name,
        type=connector.type,
        signals=tuple(sorted({spec.signal for spec in specs})),
        tools=tuple(spec.name for spec in specs),
        health=health,
        note="its last health check failed" if health == "failing" else "",
    )
