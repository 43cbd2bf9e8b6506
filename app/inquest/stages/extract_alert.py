"""Stage 2: noise or not, and the facts of the alert; the incident window is fixed here.

Everything comes from the parsed alert by rule. A model is asked only for free text (chat intakes), which
no intake of this release takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.analysis.expression import expression_of
from inquest.domain.alert import Alert
from inquest.domain.investigation import Facts, FactsExtracted, Investigation, ServiceGuess
from inquest.domain.window import IncidentWindow, incident_window

if TYPE_CHECKING:
    from datetime import datetime

    from inquest.domain.episode import Episode
    from inquest.ports import Acts
    from inquest.stages.kit import Stage

TEST_NOTIFICATIONS = frozenset({"InquestTest"})
"""Alert names that say "this is a test": the one that `inquest send-sample` and the how-to use. Closed."""

MESSAGE_ANNOTATIONS = ("description", "message", "summary")
MEASURE_ANNOTATIONS = ("status", "query", "metric")
"""What an alert says was measured, where that is no expression of a connected source (Datadog): it stands before
the message, whose end an investigator may not see."""
LINK_ANNOTATIONS = ("runbook_url", "runbook", "dashboard_url", "dashboard")
MAX_MESSAGE_CHARS = 2_000
MAX_LINKS = 10


def bind(acts: Acts) -> Stage:
    """Give stage 2 as a function of the state."""

    async def extract_alert(state: Investigation) -> FactsExtracted:
        return FactsExtracted(facts=facts_of(state, now=acts.clock.now()))

    return extract_alert


def facts_of(state: Investigation, *, now: datetime) -> Facts:
    """Read the facts out of the episode and the service that stage 1 resolved."""
    episode = state.episode
    alert = episode.primary.alert
    service = state.integrations.service if state.integrations else ServiceGuess(service_id="", how="none")
    return Facts(
        alert_name=alert.name,
        severity=alert.severity,
        alert_source=episode.source,
        service=service.service_id,
        namespace=service.namespace or alert.labels.get("namespace", ""),
        workload=service.workload,
        error_message=_message(alert),
        expression=expression_of(alert.generator_url),
        links=_links(alert),
        labels=episode.common_labels,
        window=_window(episode, now),
        noise="a test notification" if alert.name in TEST_NOTIFICATIONS else None,
    )


def _window(episode: Episode, now: datetime) -> IncidentWindow:
    firing = [member.alert.starts_at or member.first_seen for member in episode.firing]
    started = firing or [member.alert.starts_at or member.first_seen for member in episode.members]
    ended = None if firing else max(member.alert.ends_at or member.last_seen for member in episode.members)
    return incident_window(firing_since=min(started), received_at=episode.opened_at, ended_at=ended, now=now)


def _message(alert: Alert) -> str:
    texts = [alert.annotations[name] for name in MESSAGE_ANNOTATIONS if alert.annotations.get(name)]
    measured = {name: alert.annotations.get(name, "") for name in MEASURE_ANNOTATIONS}
    lines = [f"{name}: {text}" for name, text in measured.items() if text and text not in texts[:1]]
    message = "\n".join([*lines, *texts[:1]])
    if len(message) <= MAX_MESSAGE_CHARS:
        return message
    return f"{message[:MAX_MESSAGE_CHARS]} [cut: {len(message)} characters in all]"


def _links(alert: Alert) -> tuple[str, ...]:
    found = [alert.annotations[name] for name in LINK_ANNOTATIONS if alert.annotations.get(name)]
    if alert.generator_url:
        found.append(alert.generator_url)
    return tuple(found[:MAX_LINKS])
