"""A plan for a host that has none of its own: the one that stage 3 would make."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from inquest.domain.budget import MAX_INVESTIGATION_LOOPS, MAX_TOOL_CALLS, PlanBudget
from inquest.domain.investigation import Facts, Integrations, Plan, ServiceGuess
from inquest.library.given import service_of
from inquest.ports import Connector
from inquest.stages.plan_actions import plan_of
from inquest.stages.resolve_integrations import connected_sources


def propose_plan(
    facts: Facts,
    connectors: Sequence[Connector],
    *,
    deadline_at: datetime,
    max_model_turns: int = MAX_INVESTIGATION_LOOPS,
    max_connector_effects: int = MAX_TOOL_CALLS,
    service: ServiceGuess | None = None,
) -> Plan:
    """Plan what is asked first, the hypotheses to open with, and the ceilings. Asks no source.

    `deadline_at` is absolute and in UTC. `service` as for `HostTerms`. The same arguments give the same plan.
    """
    integrations = Integrations(sources=connected_sources(connectors, {}), service=service or service_of(facts))
    budget = PlanBudget(
        max_model_turns=max_model_turns, max_connector_effects=max_connector_effects, deadline_at=deadline_at
    )
    return plan_of(facts, integrations, connectors, budget)
