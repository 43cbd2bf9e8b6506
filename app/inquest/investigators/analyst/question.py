"""What this investigation is about, as the analyst needs it: the alert's expression, and the service's labels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inquest.analysis.expression import measured_by
from inquest.investigators.analyst.exhibit import exhibits
from inquest.investigators.analyst.tools import RANGE_TOOL

if TYPE_CHECKING:
    from inquest.domain.evidence import Asked
    from inquest.domain.value import Labels
    from inquest.ports import LoopView

DEFAULT_SCRAPE_MS = 15_000
MAX_DEPENDENCIES = 3
"""Services that this one calls which are looked at: a look is half a dozen queries."""


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


def scrape_ms(view: LoopView) -> int:
    """Give how far apart the samples of the metrics source are."""
    return next((tool.step_ms for tool in view.tools if tool.name == RANGE_TOOL), DEFAULT_SCRAPE_MS)


def service_matchers(view: LoopView) -> Labels:
    """Give the labels that select the service at a Prometheus, {} when none are known."""
    integrations = view.investigation.integrations
    return dict(integrations.service.matchers.get("prometheus", {})) if integrations else {}


def log_matchers(view: LoopView) -> Labels:
    """Give the labels that select the service at a Loki, {} when none are known."""
    integrations = view.investigation.integrations
    return dict(integrations.service.matchers.get("loki", {})) if integrations else {}


def dependency_matchers(view: LoopView) -> dict[str, Labels]:
    """Give the labels that select each service that this one calls at a Prometheus, by name: the first few."""
    integrations = view.investigation.integrations
    known = integrations.dependencies if integrations else {}
    found = {name: matchers["prometheus"] for name, matchers in known.items() if matchers.get("prometheus")}
    return dict(list(found.items())[:MAX_DEPENDENCIES])


def asks_for_signal(view: LoopView, asked: Asked) -> bool:
    """Say whether `asked` is about the alert's own signal: every range query among the seeds is, and ours by name."""
    if asked.query.tool != RANGE_TOOL:
        return False
    return asked.effect_key.startswith("seed/") or written_expression(view, asked) == alert_expression(view)


def written_expression(view: LoopView, asked: Asked) -> str:
    """Give the expression as the analyst wrote it: the tool has put it in scope and printed it anew."""
    place = asked.effect_key.split("/try/")[0]
    call = next((one for one in view.exchanges if one.key.split("/try/")[0] == place), None)
    return str(asked.query.arguments.get("expression", "")) if call is None else expression_in(call.arguments)


def expression_in(arguments: str) -> str:
    """Give the expression in the raw arguments of a call, "" where there is none."""
    try:
        found = json.loads(arguments or "{}")
    except ValueError:
        return ""
    return str(found.get("expression", "")) if isinstance(found, dict) else ""
