"""One claim: who may act, through which door, bound to what. Built anew for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from inquest.bootstrap.observing import RELEASE
from inquest.bootstrap.workspace import Workspace
from inquest.domain.budget import Limits
from inquest.domain.event import EpisodeChanged, RunStarted
from inquest.domain.investigation import Origin
from inquest.domain.transcript import ModelRequest, Reply
from inquest.errors import ConfigurationError, InvariantBroken, ModelError, NotFound, ReplayMismatch
from inquest.investigators.analyst import ANALYST, Analyst
from inquest.investigators.with_model import PROMPTS, ModelInvestigator
from inquest.models.litellm_model import LitellmModel, create
from inquest.ports import Chronicle, Claimed, Clock, Investigator, Model, ModelFailure
from inquest.resources import config_dir
from inquest.runtime import pipeline
from inquest.runtime.effects import ClaimedActs
from inquest.runtime.ends import conclude_failed
from inquest.runtime.keys import InstallationKey
from inquest.runtime.kit import Opened, RunKit
from inquest.runtime.lease import LeaseGuard
from inquest.runtime.terms import Terms
from inquest.runtime.unreadable import end_unreadable
from inquest.stages.cost import Price, costs_nothing
from inquest.stages.fold import fold
from inquest.stages.tools import bound_tools
from inquest.store.alerts import PostgresAlerts
from inquest.store.database import Database
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal
from inquest.telemetry import Metrics

MAX_PROMPT_BYTES = 65_536


@dataclass(frozen=True)
class Claiming:
    """What every claim of this process is made from.

    `health` is what the last check of each source found, by workspace and integration.
    """

    database: Database
    workspaces: Mapping[str, Workspace]
    key: InstallationKey
    metrics: Metrics
    health: Mapping[tuple[str, str], Literal["ok", "failing", "unknown"]]
    models: Mapping[str, Model] = field(default_factory=dict)

    async def run(self, claimed: Claimed, guard: LeaseGuard) -> None:
        """Take one investigation to its end, or as far as this claim gets (`runtime.worker.Act`)."""
        claim = await self._open(claimed, guard)
        await pipeline.run(claim.acts, claim.kit, claim.opened)

    async def conclude_failed(self, claimed: Claimed, guard: LeaseGuard) -> None:
        """End one whose attempts are used up, whatever is wrong with what it recorded."""
        workspace = self._workspace(claimed)
        try:
            acts = await self._acts(claimed, guard)
        except ReplayMismatch as found:
            await end_unreadable(PostgresJournal(self.database, workspace.name), claimed, found, self.metrics)
            return
        try:
            chosen = await self._investigator(acts, workspace)
        except NotFound:  # the prompts of its start are gone: nobody is asked any more
            chosen = _analyst(workspace)
        kit = self._kit(acts, claimed, workspace, chosen)
        await conclude_failed(acts, kit, self._opening(claimed, workspace.name))

    async def _open(self, claimed: Claimed, guard: LeaseGuard) -> _Claim:
        workspace = self._workspace(claimed)
        acts = await self._acts(claimed, guard)
        kit = self._kit(acts, claimed, workspace, await self._investigator(acts, workspace))
        return _Claim(acts, kit, self._opening(claimed, workspace.name))

    def _workspace(self, claimed: Claimed) -> Workspace:
        return self.workspaces[claimed.identity.workspace_id]  # claims are limited to these

    async def _acts(self, claimed: Claimed, guard: LeaseGuard) -> ClaimedActs:
        workspace = self._workspace(claimed)
        journal = PostgresJournal(self.database, workspace.name, workspace.ceilings)
        chronicle = await journal.load(claimed.fence.investigation_id)
        return ClaimedActs(chronicle, self._terms(claimed, guard, workspace), journal, journal)

    def _terms(self, claimed: Claimed, guard: LeaseGuard, workspace: Workspace) -> Terms:
        workspace.clock.follow(guard.clock)
        return Terms(
            fence=claimed.fence,
            clock=guard.clock,
            tools=bound_tools(workspace.connectors),
            may_act=guard.may_act,
            scrub=workspace.redactor.text,
            metrics=self.metrics,
        )

    def _kit(self, acts: ClaimedActs, claimed: Claimed, workspace: Workspace, chosen: _Chosen) -> RunKit:
        return RunKit(
            connectors=workspace.connectors,
            catalogue=workspace.catalogue,
            health={name: found for (of, name), found in self.health.items() if of == workspace.name},
            investigator=chosen.investigator,
            analyst=Analyst(),
            count_tokens=chosen.count_tokens,
            price=chosen.price,
            prompts=chosen.prompts,
            limits=chosen.limits,
            boundary=self.key.boundary(claimed.fence.investigation_id),
            signer=self.key,
            release=RELEASE,
            episode_changes=episode_changes(acts, PostgresAlerts(self.database), acts.clock),
            metrics=self.metrics,
        )

    async def _investigator(self, acts: ClaimedActs, workspace: Workspace) -> _Chosen:
        """Choose by what run_started fixed, else by the configuration; the prompts are those that it names."""
        started = _started(acts.chronicle)
        names = started.models if started is not None else (workspace.model.names if workspace.model else (ANALYST,))
        if names == (ANALYST,):
            return _analyst(workspace)
        model = self.models.get(workspace.name, _NO_MODEL)
        if started is None:
            prompts = {name: _prompt(name) for name in PROMPTS}
        else:
            stored = await acts.contents(list(started.prompts.values()))
            prompts = {name: stored[digest] for name, digest in started.prompts.items()}
        texts = {name: raw.decode("utf-8") for name, raw in prompts.items()}
        limits = workspace.limits.but(context_window_tokens=model.window_tokens())
        investigator = ModelInvestigator(model, names, texts)
        return _Chosen(investigator, prompts, limits, model.count_tokens, model.most_usd_micros)

    def _opening(self, claimed: Claimed, workspace: str) -> Callable[[], Awaitable[Opened]]:
        async def opened() -> Opened:
            row = await PostgresInvestigations(self.database, workspace).get(claimed.fence.investigation_id)
            episode = await PostgresAlerts(self.database).episode_for(claimed.fence.investigation_id)
            origin = row.origin or Origin(intake=episode.intake, source=episode.source)
            return Opened(identity=claimed.identity, origin=origin, episode=episode, started_at=claimed.started_at)

        return opened


@dataclass(frozen=True)
class _Claim:
    acts: ClaimedActs
    kit: RunKit
    opened: Callable[[], Awaitable[Opened]]


@dataclass(frozen=True)
class _Chosen:
    investigator: Investigator
    prompts: Mapping[str, bytes]
    limits: Limits
    count_tokens: Callable[[ModelRequest], int]
    price: Price


def _analyst(workspace: Workspace) -> _Chosen:
    return _Chosen(Analyst(), {}, workspace.limits, _counts_nothing, costs_nothing)


def _counts_nothing(_: ModelRequest) -> int:
    return 0


class _NoModel:
    """Stands where run_started names models and the configuration has none any more: the run ends degraded."""

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Refuse."""
        raise ModelError(ModelFailure.AUTHENTICATION, "no model is configured any more")

    def count_tokens(self, request: ModelRequest) -> int:
        """Count nothing: nothing is sent."""
        return _counts_nothing(request)

    def window_tokens(self) -> int:
        """Give the usual window."""
        return Limits().context_window_tokens

    def most_usd_micros(self, input_tokens: int, output_tokens: int) -> int:
        """Cost nothing: nothing is sent."""
        return costs_nothing(input_tokens, output_tokens)


_NO_MODEL = _NoModel()


def _started(chronicle: Chronicle) -> RunStarted | None:
    return next((event.body for event in chronicle.events if isinstance(event.body, RunStarted)), None)


def _prompt(name: str) -> bytes:
    raw = (config_dir() / "prompts" / f"{name}.md").read_bytes()
    if len(raw) > MAX_PROMPT_BYTES:
        msg = f"config/prompts/{name}.md is larger than {MAX_PROMPT_BYTES} bytes"
        raise ConfigurationError(msg)
    return raw


def load_models(workspaces: Mapping[str, Workspace]) -> dict[str, LitellmModel]:
    """Make the model of every workspace that names one. Imports litellm, which takes seconds; call it in the worker.

    Raises ConfigurationError, a line for each problem, where a provider, a window or a price is not known.
    """
    made: dict[str, LitellmModel] = {}
    problems: list[str] = []
    for name, one in workspaces.items():
        if one.model is None:
            continue
        try:
            made[name] = create(one.model)
        except ConfigurationError as error:
            problems += [f"workspaces.{name}.{line}" for line in str(error).splitlines()]
    if problems:
        raise ConfigurationError("\n".join(problems))
    return made


def episode_changes(
    acts: ClaimedActs, alerts: PostgresAlerts, clock: Clock
) -> Callable[[], Awaitable[EpisodeChanged | None]]:
    """Give what the episode did since the journal's last look at it, None when it did nothing."""

    async def look() -> EpisodeChanged | None:
        state = fold([event.body for event in acts.chronicle.events])
        if state is None:
            msg = "the loop looks at an episode that was never read"
            raise InvariantBroken(msg)
        changes = await alerts.changes(state.episode.episode_id, since=state.episode.version)
        if changes.version == changes.since:
            return None
        return EpisodeChanged(
            joined=changes.joined,
            resolved=changes.resolved,
            fired_again=changes.fired_again,
            window_end=clock.now(),
            episode_version=changes.version,
            unlisted_members=changes.unlisted,
            unlisted_resolved=changes.unlisted_resolved,
            unlisted_fired_again=changes.unlisted_fired_again,
        )

    return look
