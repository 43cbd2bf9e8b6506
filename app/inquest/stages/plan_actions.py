"""Stage 3: which tools first and why, which hypotheses, which ceilings. Advisory but for the ceilings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquest.domain.budget import TOOL_BUDGET, PlanBudget
from inquest.domain.effect import seed_key
from inquest.domain.investigation import Facts, Integrations, Investigation, Plan, Planned, RankedTool, SeedCall
from inquest.domain.observation import Query, QueryBudget
from inquest.errors import InvariantBroken
from inquest.ports import InvalidQuery
from inquest.stages.gather_evidence.opening import SeedAsk, seed_asks
from inquest.stages.hypotheses import opening_hypotheses
from inquest.stages.present import OF_THE_PRESENT, why_not_now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from inquest.domain.tool import ToolSpec
    from inquest.domain.window import IncidentWindow
    from inquest.ports import Acts, Connector, Tool
    from inquest.stages.kit import Stage

SIGNAL_WEIGHTS = {
    "metrics": 1.0, "changes": 0.9, "logs": 0.9, "alerts": 0.7, "workloads": 0.8, "rules": 0.5, "traces": 0.7,
    "names": 0.3, "human": 0.0, "derived": 0.0,
}  # fmt: skip
"""How much a kind of signal tells about a metrics alert, before anything is known (engineering judgement)."""
COST_PENALTY = 0.03
"""Taken off per unit of a tool's relative cost (1..10): a scan must promise more than a look-up."""
KNOWN_SERVICE_BONUS = 0.1
NAMED_BONUS = 0.2
"""For a tool whose description shares a word with the alert's name or message."""
FAILING_PENALTY = 0.5
_WORD = re.compile(r"[a-z]{4,}")


@dataclass(frozen=True)
class PlanKit:
    """The connectors whose tools are planned."""

    connectors: Sequence[Connector]


def bind(kit: PlanKit, acts: Acts) -> Stage:  # noqa: ARG001  # every stage is bound alike; the pipeline reserves the seeds
    """Give stage 3 as a function of the state."""

    async def plan_actions(state: Investigation) -> Planned:
        if state.facts is None or state.integrations is None:
            msg = "plan_actions runs after extract_alert"
            raise InvariantBroken(msg)
        budget = PlanBudget(
            max_model_turns=state.limits.max_model_turns,
            max_connector_effects=state.limits.max_connector_effects,
            deadline_at=state.deadline_at,
        )
        return Planned(plan=plan_of(state.facts, state.integrations, kit.connectors, budget, began_at=state.started_at))

    return plan_actions


def plan_of(
    facts: Facts,
    integrations: Integrations,
    connectors: Sequence[Connector],
    budget: PlanBudget,
    *,
    began_at: datetime | None = None,
) -> Plan:
    """Plan from the facts: the tools that promise most, hypotheses to open with, and what is asked first.

    `began_at`: when the investigation did. Of an incident that was over by then, what is now is not asked.
    """
    over = began_at is not None and bool(why_not_now(facts, began_at))
    tools = {
        tool.spec.name: tool
        for connector in connectors
        for tool in connector.tools
        if not (over and tool.spec.signal in OF_THE_PRESENT)
    }
    ranked = rank_tools([tool.spec for tool in tools.values()], facts, integrations)
    seeds = [
        (query, ask.why)
        for ask in seed_asks(facts, integrations.service, tools)
        if (query := _query(ask, tools[ask.tool], facts.window, integrations.service.service_id)) is not None
    ]
    return Plan(
        objective=_objective(facts),
        hypotheses=opening_hypotheses(facts, integrations.service),
        tools=ranked,
        seeds=tuple(
            SeedCall(key=seed_key(number), query=query, why=why)
            for number, (query, why) in enumerate(seeds[: budget.max_connector_effects], start=1)
        ),
        budget=budget,
        fallback=not ranked,
    )


def _objective(facts: Facts) -> str:
    of_service = f" of {facts.service}" if facts.service else ""
    return f"Find what made {facts.alert_name}{of_service} fire since {facts.window.anchor:%Y-%m-%d %H:%M:%S} UTC."


def rank_tools(specs: Sequence[ToolSpec], facts: Facts, integrations: Integrations) -> tuple[RankedTool, ...]:
    """Score every tool in [0, 1] and keep the best TOOL_BUDGET, at most half from one source if there are several.

    A tool whose score is 0 is left out; when none is left the loop's own relevance ranking applies.
    """
    failing = {source.name for source in integrations.sources if source.health == "failing"}
    scored = [_score(spec, facts, known=bool(integrations.service.service_id), failing=failing) for spec in specs]
    best = sorted((one for one in scored if one.tool.score > 0), key=lambda one: (-one.tool.score, one.tool.name))
    per_source = TOOL_BUDGET // 2 if len({one.source for one in best}) > 1 else TOOL_BUDGET
    kept: list[_Scored] = []
    for one in best:
        if len(kept) < TOOL_BUDGET and sum(other.source == one.source for other in kept) < per_source:
            kept.append(one)
    return tuple(one.tool for one in kept)


@dataclass(frozen=True)
class _Scored:
    tool: RankedTool
    source: str


def _score(spec: ToolSpec, facts: Facts, *, known: bool, failing: set[str]) -> _Scored:
    score, reasons = SIGNAL_WEIGHTS[spec.signal], [f"reads {spec.signal}"]
    score -= COST_PENALTY * spec.cost
    reasons.append(f"cost {spec.cost} of 10")
    if known and spec.signal in {"metrics", "logs", "changes", "workloads"}:
        score += KNOWN_SERVICE_BONUS
        reasons.append(f"can be asked about {facts.service}")
    shared = _words(f"{facts.alert_name} {facts.error_message}") & _words(spec.description)
    if shared:
        score += NAMED_BONUS
        reasons.append("speaks of what the alert speaks of")
    if spec.source in failing:
        score -= FAILING_PENALTY
        reasons.append("its last health check failed")
    score = round(min(max(score, 0.0), 1.0), 3)
    return _Scored(RankedTool(name=spec.name, score=score, rationale="; ".join(reasons)), spec.source)


def _words(text: str) -> set[str]:
    parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return set(_WORD.findall(parts))


def _query(ask: SeedAsk, tool: Tool, window: IncidentWindow, service_id: str) -> Query | None:
    """Let the tool prepare the call; a seed that its tool refuses (an odd label, say) is left out."""
    asked = Query(
        tool=ask.tool,
        service_id=service_id,
        arguments=ask.arguments,
        time_range=window.baseline if ask.window == "baseline" else window.incident,
        budget=QueryBudget(),
    )
    try:
        return tool.prepare(ask.arguments, asked)
    except InvalidQuery:
        return None
