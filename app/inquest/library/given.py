"""What a host gives instead of stages 1 to 3, what is recorded of it, and whether it is what was given before. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from pydantic import ValidationError

from inquest.domain.alert import Alert, AlertStatus, identity_fingerprint
from inquest.domain.budget import MAX_HYPOTHESES, Limits
from inquest.domain.canonical import digest_of
from inquest.domain.effect import seed_key
from inquest.domain.episode import Episode, Member
from inquest.domain.event import EventBody, PlanCommitted, RunStarted, StageCommitted
from inquest.domain.investigation import (
    Facts,
    FactsExtracted,
    Identity,
    Integrations,
    IntegrationsResolved,
    Origin,
    Plan,
    ServiceGuess,
)
from inquest.domain.service import resolve_service
from inquest.domain.value import Instant, Value
from inquest.errors import ConfigurationError, IdentityMismatch, PlanMismatch
from inquest.ports import Connector
from inquest.stages.resolve_integrations import connected_sources
from inquest.stages.tools import bound_tools

INTAKE = "library"
"""Where the journal says that such an investigation came in."""


class Given(Value):
    """What a run is of: the same in every call for one run."""

    identity: Identity
    facts: Facts
    plan: Plan


# ---- the same as before ----------------------------------------------------------------------------------


def check_same(given: Given, recorded: Sequence[EventBody]) -> None:
    """Refuse what is not what the run began with. Raises IdentityMismatch, PlanMismatch."""
    run_id = given.identity.run_id
    started: RunStarted | None = None
    facts: Facts | None = None
    plan: Plan | None = None
    for body in recorded:
        match body:
            case RunStarted():
                started = body
            case StageCommitted(update=FactsExtracted(facts=found)):
                facts = found
            case PlanCommitted(plan=found_plan):
                plan = found_plan
            case _:
                pass
    if started is None:
        return
    if started.identity != given.identity:
        raise IdentityMismatch(f"run {run_id} has another identity than the one that is given")
    if facts is None or plan is None:
        raise PlanMismatch(f"run {run_id} was begun by a worker, which plans for itself")
    if _fingerprint(facts, "facts") != _fingerprint(given.facts, "facts"):
        raise PlanMismatch(f"run {run_id} has other facts than those that are given")
    if _fingerprint(plan, "plan") != _fingerprint(given.plan, "plan"):
        raise PlanMismatch(f"run {run_id} goes by another plan than the one that is given")


def _fingerprint(value: Value, field: str) -> str:
    try:
        return value.canonical_digest()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{field}: some text in it has no bytes (a lone surrogate)") from error


# ---- fit to begin with -----------------------------------------------------------------------------------


def check_runnable(given: Given, connectors: Sequence[Connector]) -> None:
    """Refuse what could not be run. Raises ConfigurationError naming the field."""
    identity, facts, plan = given.identity, given.facts, given.plan
    _fingerprint(given, "facts, plan")
    for connector in connectors:
        if connector.context.workspace != identity.workspace_id:
            raise ConfigurationError(
                f"connectors: {connector.name} reads for workspace {connector.context.workspace!r}, "
                f"the investigation belongs to {identity.workspace_id!r}"
            )
    tools = bound_tools(connectors)
    names = [hypothesis.name for hypothesis in plan.hypotheses]
    if len(set(names)) < len(names) or len(names) > MAX_HYPOTHESES:
        raise ConfigurationError(f"plan.hypotheses: at most {MAX_HYPOTHESES}, each with a name of its own")
    for number, seed in enumerate(plan.seeds, start=1):
        if seed.key != seed_key(number):
            raise ConfigurationError(f"plan.seeds: number {number} has the key {seed_key(number)}, not {seed.key!r}")
        if seed.query.tool not in tools:
            raise ConfigurationError(
                f"plan.seeds: {seed.key} asks the tool {seed.query.tool!r}, which no connector has"
            )
        if not facts.window.allows(seed.query.time_range):
            raise ConfigurationError(f"plan.seeds: {seed.key} looks outside baseline.start .. the end of facts.window")
    if len(plan.seeds) > plan.budget.max_connector_effects:
        raise ConfigurationError("plan.seeds: there are more of them than plan.budget.max_connector_effects")


def limits_of(plan: Plan, lent: Limits, now: datetime) -> Limits:
    """Give the ceilings of a run that begins now: those of `lent`, and the plan's in place of its own.

    Raises ConfigurationError where the plan's are above what any investigation may have.
    """
    seconds = math.ceil((plan.budget.deadline_at - now).total_seconds())
    try:
        return lent.but(
            max_model_turns=plan.budget.max_model_turns,
            max_connector_effects=plan.budget.max_connector_effects,
            wall_clock_s=seconds,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = str(first["loc"][0])
        shown = "deadline_at (in seconds from now)" if field == "wall_clock_s" else field
        raise ConfigurationError(f"plan.budget.{shown}: {first['msg']}") from error


# ---- what is recorded ------------------------------------------------------------------------------------


class Beginning(Value):
    """What the first transaction of a run fixes, beside what is given."""

    models: tuple[str, ...]
    limits: Limits
    service: ServiceGuess
    release: str
    now: Instant


def first_events(
    given: Given, beginning: Beginning, connectors: Sequence[Connector], prompts: dict[str, bytes]
) -> tuple[EventBody, ...]:
    """Give the start and the sections of stages 1 to 3, which commit together: a run has all of them or none."""
    started = RunStarted(
        identity=given.identity,
        origin=Origin(intake=INTAKE, source=given.facts.alert_source),
        episode=_episode(given),
        models=beginning.models,
        prompts={name: digest_of(raw) for name, raw in prompts.items()},
        limits=beginning.limits,
        started_at=beginning.now,
        deadline_at=given.plan.budget.deadline_at,
        release=beginning.release,
    )
    integrations = Integrations(sources=connected_sources(connectors, {}), service=beginning.service)
    return (
        started,
        StageCommitted(update=IntegrationsResolved(integrations=integrations)),
        StageCommitted(update=FactsExtracted(facts=given.facts)),
        PlanCommitted(plan=given.plan),
    )


def service_of(facts: Facts) -> ServiceGuess:
    """Give the service that `facts` name, selected by the label of theirs that names it, else by `service`."""
    if not facts.service:
        return ServiceGuess(service_id="", how="none", namespace=facts.namespace, workload=facts.workload)
    namespace = {"namespace": facts.namespace} if facts.namespace else {}
    found = resolve_service({**facts.labels, **namespace}, ())
    if found.service_id != facts.service:
        found = resolve_service({**facts.labels, **namespace, "service": facts.service}, ())
    return found.but(workload=facts.workload or found.workload)


def _episode(given: Given) -> Episode:
    """Give one firing member that says what the facts say: a host has an incident, not an alert's post."""
    facts = given.facts
    severity = {"severity": facts.severity} if facts.severity else {}
    labels = {**severity, **facts.labels}
    anchor = facts.window.anchor
    alert = Alert(
        fingerprint=identity_fingerprint({**labels, "alertname": facts.alert_name}),
        name=facts.alert_name,
        status=AlertStatus.FIRING,
        starts_at=anchor,
        labels=labels,
        annotations={"message": facts.error_message} if facts.error_message else {},
    )
    member = Member(alert_id=alert.fingerprint, alert=alert, occurrences=1, first_seen=anchor, last_seen=anchor)
    return Episode(
        episode_id=given.identity.task_id,
        group_key=alert.fingerprint,
        intake=INTAKE,
        source=facts.alert_source,
        opened_at=anchor,
        members=(member,),
    )
