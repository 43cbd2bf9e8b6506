"""What this investigation is about, as the analyst needs it: the alert's expression, and the service's labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.analysis.expression import measured_by
from inquest.investigators.analyst.exhibit import exhibits

if TYPE_CHECKING:
    from inquest.domain.value import Labels
    from inquest.ports import LoopView


def alert_expression(view: LoopView) -> str:
    """Give what the alert measures: from the alert itself, else from its rule as the source showed it."""
    facts = view.investigation.facts
    if facts is None:
        return ""
    if facts.expression:
        return measured_by(facts.expression)
    for exhibit in exhibits(view):
        if exhibit.content.kind == "rules":
            found = next((rule for rule in exhibit.content.rules if rule.name == facts.alert_name), None)
            if found is not None:
                return measured_by(found.expression)
    return ""


def service_matchers(view: LoopView) -> Labels:
    """Give the labels that select the service at a Prometheus, {} when none are known."""
    integrations = view.investigation.integrations
    return dict(integrations.service.matchers.get("prometheus", {})) if integrations else {}
