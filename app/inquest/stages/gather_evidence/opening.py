"""The seed calls of an investigation, by the source of its alert: a table that an engineer can read.

They are what anybody would look at first. The first turn starts from their answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from inquest.analysis.expression import measured_by
from inquest.domain.selector import quote, selector

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from inquest.domain.investigation import Facts, ServiceGuess
    from inquest.domain.value import Json

MAX_SEEDS = 10
ERROR_WORDS = "(?i)(error|exception|fatal|panic|timeout|timed out|refused|denied|fail|exhaust|unavailable)"
"""What an error line says, in RE2 syntax."""

Arguments = dict[str, "Json"]


@dataclass(frozen=True)
class Opening:
    """One row: `arguments` gives None where the facts do not allow the call."""

    tool: str
    window: Literal["incident", "baseline"]
    why: str
    arguments: Callable[[Facts, ServiceGuess], Arguments | None]


def _signal(facts: Facts, _: ServiceGuess) -> Arguments | None:
    return {"expression": measured_by(facts.expression)} if facts.expression else None


def _rule(facts: Facts, _: ServiceGuess) -> Arguments | None:
    return None if facts.expression else {"search": facts.alert_name}


def _all(_: Facts, __: ServiceGuess) -> Arguments | None:
    return {}


def _error_lines(_: Facts, service: ServiceGuess) -> Arguments | None:
    matchers = service.matchers.get("loki", {})
    return {"expression": f"{selector(matchers)} |~ {quote(ERROR_WORDS)}"} if matchers else None


METRICS_ALERT: tuple[Opening, ...] = (
    Opening("prometheus_query_range", "incident", "the alert's own signal over the incident window", _signal),
    Opening("prometheus_query_range", "baseline", "the same signal before it, to know what is normal", _signal),
    Opening("prometheus_rules", "incident", "the rule behind the alert: its expression is not in the alert", _rule),
    Opening("prometheus_alerts", "incident", "what else fires now", _all),
    Opening("gitlab_deployments", "incident", "what was deployed before the trouble began", _all),
    Opening("gitlab_merge_requests", "incident", "what was merged before the trouble began", _all),
    Opening("loki_query", "incident", "error lines of the service during the incident", _error_lines),
    Opening("loki_query", "baseline", "error lines before it, to know which ones are new", _error_lines),
)

ELSEWHERE_MEASURED: tuple[Opening, ...] = (
    Opening("prometheus_alerts", "incident", "what else fires now", _all),
    Opening("gitlab_deployments", "incident", "what was deployed before the trouble began", _all),
    Opening("gitlab_merge_requests", "incident", "what was merged before the trouble began", _all),
    Opening(
        "loki_query", "incident", "error lines of the service that the tags name, during the incident", _error_lines
    ),
    Opening("loki_query", "baseline", "error lines before it, to know which ones are new", _error_lines),
)
"""For an alert whose own signal no connected source holds, and whose expression is no PromQL: neither it nor a rule
behind it is asked for."""

OPENINGS: dict[str, tuple[Opening, ...]] = {"alertmanager": METRICS_ALERT, "datadog": ELSEWHERE_MEASURED}
"""By alert source. A source that is not here opens as a metrics alert does."""


@dataclass(frozen=True)
class SeedAsk:
    """A seed before its tool has prepared it."""

    tool: str
    arguments: Arguments
    window: Literal["incident", "baseline"]
    why: str


def seed_asks(facts: Facts, service: ServiceGuess, available: Container[str]) -> tuple[SeedAsk, ...]:
    """List the seed calls for `facts` among the tools that are `available`, in the table's order."""
    rows = OPENINGS.get(facts.alert_source, METRICS_ALERT)
    asks = [
        SeedAsk(tool=row.tool, arguments=arguments, window=row.window, why=row.why)
        for row in rows
        if row.tool in available and (arguments := row.arguments(facts, service)) is not None
    ]
    return tuple(asks[:MAX_SEEDS])
