"""Stage 1: what this workspace has connected, with its last known health, and which service this is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquest.domain.investigation import ConnectedSource, Integrations, IntegrationsResolved, Investigation
from inquest.domain.service import Service, dependency_matchers, entries_of, resolve_service
from inquest.stages.extract_alert import TEST_NOTIFICATIONS
from inquest.stages.questions import ask, question_at, questions_left

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from inquest.domain.episode import Episode
    from inquest.domain.value import Labels
    from inquest.ports import Acts, Connector
    from inquest.stages.kit import Stage

    Health = Mapping[str, Literal["ok", "failing", "unknown"]]

MAX_SOURCES = 64
BY_RULE = "resolve_integrations"
"""The place of the one question that a rule asks: which service it is, where the catalogue has several."""
MAX_NAMED = 10
"""Services that the question names."""
_TOKEN = re.compile(r"[^\s,;:!?()\"'`]+")


@dataclass(frozen=True)
class ResolveKit:
    """`health` is what the last check of each integration found, by name."""

    connectors: Sequence[Connector]
    catalogue: tuple[Service, ...]
    health: Health


def bind(kit: ResolveKit, acts: Acts) -> Stage:
    """Give stage 1 as a function of the state. Raises WaitsForAnswer where a human has to say which service it is."""

    async def resolve_integrations(state: Investigation) -> IntegrationsResolved:
        among = entries_of(_labels(state.episode), kit.catalogue)
        asked = question_at(state, BY_RULE)
        if len(among) > 1 and asked is None and questions_left(state) and not _is_noise(state.episode):
            await ask(acts, state, which_service(among), call_key=BY_RULE)
        named = "" if asked is None else named_in(asked.answer or "", among)
        return IntegrationsResolved(integrations=integrations_of(state.episode, kit, named=named))

    return resolve_integrations


def integrations_of(episode: Episode, kit: ResolveKit, *, named: str = "") -> Integrations:
    """Say what is connected, and which service the alerts of `episode` are about. `named`: by a human, if several."""
    service = resolve_service(_labels(episode), kit.catalogue, named=named)
    return Integrations(
        sources=connected_sources(kit.connectors, kit.health),
        service=service,
        dependencies=dependency_matchers(service, kit.catalogue),
    )


def which_service(among: Sequence[Service]) -> str:
    """Word the question which of several entries of the catalogue an alert is about."""
    more = f" and {len(among) - MAX_NAMED} more" if len(among) > MAX_NAMED else ""
    names = ", ".join(entry.name for entry in among[:MAX_NAMED])
    return (
        "Which service is this alert about? The service catalogue has several entries that match it equally: "
        f"{names}{more}. Answer with one of these names."
    )


def named_in(answer: str, among: Sequence[Service]) -> str:
    """Give the one of `among` that an answer names, as the whole of it or as a word; "" where that is not one.

    Nothing but an entry that matched the alert can be named: an answer chooses, and widens nothing.
    """
    said = answer.strip().casefold()
    words = {word.rstrip(".") for word in _TOKEN.findall(said)}
    whole = [entry.name for entry in among if entry.name.casefold() == said]
    found = whole or [entry.name for entry in among if entry.name.casefold() in words]
    return found[0] if len(found) == 1 else ""


def _labels(episode: Episode) -> Labels:
    return {**episode.primary.alert.labels, **episode.common_labels}


def _is_noise(episode: Episode) -> bool:
    """Say whether stage 2 will end it as noise: nobody is woken for that."""
    return episode.primary.alert.name in TEST_NOTIFICATIONS


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
