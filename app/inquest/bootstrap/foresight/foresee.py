"""A post -> what stages 1 to 3 would make of it, and what would follow. Opens no connection and asks nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from inquest.bootstrap.foresight.foreseen import Foreseen, ForeseenCall, ForeseenModel
from inquest.bootstrap.foresight.money import NOBODY, worst_of
from inquest.bootstrap.foresight.outlets import deliveries_of
from inquest.bootstrap.workspace import Workspace
from inquest.configuration.sections import IntegrationSection, WorkspaceSection
from inquest.domain.alert import AlertStatus, Post
from inquest.domain.budget import Limits, PlanBudget
from inquest.domain.episode import Episode, Member
from inquest.domain.intake import IntakeConfig, Keyed, keyed
from inquest.domain.investigation import Facts, Identity, Integrations, Investigation, Origin, Plan, SeedCall
from inquest.domain.observation import Context
from inquest.errors import ConfigurationError
from inquest.investigators.analyst import ANALYST
from inquest.models.litellm_model import ModelAccess, create
from inquest.runtime.masking import masked_members
from inquest.stages.extract_alert import facts_of
from inquest.stages.plan_actions import plan_of
from inquest.stages.resolve_integrations import ResolveKit, integrations_of
from inquest.stages.tools import bound_tools

NOT_THERE_YET = "dry-run"
"""Stands where an investigation has the ids that the database gives it."""


@dataclass(frozen=True)
class Foresight:
    """The workspace that would take the post in, and what its section of the configuration says.

    `base` is the folder that relative paths of the section begin in.
    """

    workspace: Workspace
    section: WorkspaceSection
    intake: IntakeConfig
    base: Path

    def of(self, post: Post, *, now: datetime) -> Foreseen:
        """Say what the investigation of `post`, taken in `now`, would ask and send.

        What the database knows, such as an episode that runs, is not looked at. Raises ConfigurationError for a post
        that opens nothing, and for a model whose window or price is unknown.
        """
        groups = self._groups(post)
        episode = _episode(next(iter(groups.values())), post, self.intake, now)
        model, limits = self._model()
        integrations = integrations_of(episode, ResolveKit(self.workspace.connectors, self.workspace.catalogue, {}))
        facts = facts_of(_investigation(episode, limits, model.names, integrations, now), now=now)
        plan = self._plan(facts, integrations, limits, now)
        calls = self._calls(plan.seeds if plan is not None else ())
        return Foreseen(
            alerts=len(episode.members),
            further_groups=len(groups) - 1,
            facts=facts,
            service=integrations.service,
            hypotheses=plan.hypotheses if plan is not None else (),
            tools=plan.tools if plan is not None else (),
            calls=calls,
            further_calls=limits.max_connector_effects - len(calls) if plan is not None else 0,
            limits=limits,
            model=model,
            deliveries=deliveries_of(self.intake.destinations, self.section.destinations, self.base),
        )

    def _groups(self, post: Post) -> dict[str, list[Keyed]]:
        """Group what fires of `post`, heartbeats left out. Raises ConfigurationError when nothing is left."""
        members, _ = keyed(post, self.intake)
        groups: dict[str, list[Keyed]] = {}
        for member in masked_members(members, self.workspace.redactor):
            if member.alert.status is AlertStatus.FIRING and not member.alert.is_heartbeat:
                groups.setdefault(member.group_key, []).append(member)
        if not groups:
            msg = "opens no investigation: none of its alerts fires, heartbeats apart"
            raise ConfigurationError(msg)
        return groups

    def _model(self) -> tuple[ForeseenModel, Limits]:
        access, limits = self.workspace.model, self.workspace.limits
        if access is None:
            return ForeseenModel(names=(ANALYST,), hosts=(), worst=NOBODY), limits
        return _priced(access, limits)

    def _plan(self, facts: Facts, integrations: Integrations, limits: Limits, now: datetime) -> Plan | None:
        """Plan as stage 3 does; None for noise, of which nothing is asked."""
        if facts.noise is not None:
            return None
        budget = PlanBudget(
            max_model_turns=limits.max_model_turns,
            max_connector_effects=limits.max_connector_effects,
            deadline_at=now + timedelta(seconds=limits.wall_clock_s),
        )
        return plan_of(facts, integrations, self.workspace.connectors, budget, began_at=now)

    def _calls(self, seeds: Sequence[SeedCall]) -> tuple[ForeseenCall, ...]:
        contexts = {name: bound.context for name, bound in bound_tools(self.workspace.connectors).items()}
        return tuple(_call(seed, contexts, self.section.integrations) for seed in seeds)


def _priced(access: ModelAccess, limits: Limits) -> tuple[ForeseenModel, Limits]:
    """Look up window and price; imports litellm, which asks nobody for them."""
    model = create(access)
    within = limits.but(context_window_tokens=model.window_tokens())
    worst = worst_of(within, model.most_usd_micros)
    return ForeseenModel(names=access.names, hosts=model.hosts(), worst=worst), within


def _call(
    seed: SeedCall, contexts: Mapping[str, Context], integrations: Mapping[str, IntegrationSection]
) -> ForeseenCall:
    query = seed.query
    integration = contexts[query.tool].connector
    return ForeseenCall(
        tool=query.tool,
        integration=integration,
        host=urlsplit(integrations[integration].url).netloc,
        expression=query.expression,
        arguments=query.arguments,
        start=query.time_range.start,
        end=query.time_range.end,
        max_bytes=query.budget.max_bytes,
        max_items=query.budget.max_items,
        timeout_ms=query.budget.timeout_ms,
        why=seed.why,
    )


def _episode(members: Sequence[Keyed], post: Post, intake: IntakeConfig, now: datetime) -> Episode:
    """Give the episode that these members would begin, all of them seen now for the first time."""
    return Episode(
        episode_id=NOT_THERE_YET,
        group_key=members[0].group_key,
        intake=intake.name,
        source=post.source,
        opened_at=now,
        members=tuple(
            Member(alert_id=one.alert.fingerprint, alert=one.alert, occurrences=1, first_seen=now, last_seen=now)
            for one in members
        ),
        sender=post.sender,
    )


def _investigation(
    episode: Episode, limits: Limits, models: tuple[str, ...], integrations: Integrations, now: datetime
) -> Investigation:
    return Investigation(
        identity=Identity(
            workspace_id=NOT_THERE_YET, task_id=NOT_THERE_YET, run_id=NOT_THERE_YET, session_id=NOT_THERE_YET
        ),
        episode=episode,
        origin=Origin(intake=episode.intake, source=episode.source),
        models=models,
        limits=limits,
        started_at=now,
        deadline_at=now + timedelta(seconds=limits.wall_clock_s),
        integrations=integrations,
    )
