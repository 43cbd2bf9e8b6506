"""The six stages in order, for one claimed investigation: what is recorded is skipped, what is not is done.

Each stage's update commits in a transaction of its own; the last one commits with the end of the run. A
stage that raises is not caught here: the worker reports it, and the journal keeps what was done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, assert_never

from inquest.domain.budget import Limits
from inquest.domain.canonical import digest_of
from inquest.domain.delivery import RevisionKind
from inquest.domain.effect import EffectKind, Reservation
from inquest.domain.episode import Episode
from inquest.domain.event import (
    TERMINAL_KINDS,
    EpisodeChanged,
    EventBody,
    PlanCommitted,
    RunFailed,
    RunStarted,
    RunSucceeded,
    StageCommitted,
)
from inquest.domain.fingerprint import query_fingerprint
from inquest.domain.investigation import (
    Delivered,
    Diagnosed,
    EvidenceGathered,
    FactsExtracted,
    Identity,
    IntegrationsResolved,
    Investigation,
    Origin,
    Plan,
    Planned,
    Update,
)
from inquest.domain.service import Service
from inquest.domain.transcript import ModelRequest
from inquest.errors import InvariantBroken
from inquest.ports import Acts, Connector, Investigator, LoopView, Revision, Signer
from inquest.runtime.recording import Ended, end_of, rebuilt_from, report_inputs
from inquest.stages import STAGES, StageName, deliver, diagnose, extract_alert, plan_actions, resolve_integrations
from inquest.stages.deliver import DeliverKit
from inquest.stages.diagnose import DiagnoseKit
from inquest.stages.fold import fold
from inquest.stages.gather_evidence import stage as gather_evidence
from inquest.stages.gather_evidence.context import evictions
from inquest.stages.gather_evidence.kit import GatherKit
from inquest.stages.gather_evidence.limits import room_tokens
from inquest.stages.gather_evidence.rebuild import load
from inquest.stages.gather_evidence.view import held_digests, loop_view, with_evicted
from inquest.stages.kit import Stage
from inquest.stages.plan_actions import PlanKit
from inquest.stages.report import ReportInputs
from inquest.stages.resolve_integrations import ResolveKit
from inquest.stages.tools import bound_tools
from inquest.telemetry import bound, log

ATTEMPTS_USED_UP = "every attempt ended by an error"


@dataclass(frozen=True)
class RunKit:
    """Everything that the stages of one investigation are bound to.

    `prompts` are the bytes of the prompts by name; `investigator` was made from those of run_started.
    `boundary` fences untrusted text. `episode_changes` gives what the episode did since the journal's last look.
    """

    connectors: Sequence[Connector]
    catalogue: tuple[Service, ...]
    health: Mapping[str, Literal["ok", "failing", "unknown"]]
    investigator: Investigator
    analyst: Investigator
    count_tokens: Callable[[ModelRequest], int]
    prompts: Mapping[str, bytes]
    limits: Limits
    boundary: str
    signer: Signer | None
    release: str
    episode_changes: Callable[[], Awaitable[EpisodeChanged | None]]


@dataclass(frozen=True)
class Opened:
    """What an investigation is about when it is first claimed. `started_at` is that moment, database time."""

    identity: Identity
    origin: Origin
    episode: Episode
    started_at: datetime


Open = Callable[[], Awaitable[Opened]]
"""Reads what the first claim starts from; asked only when nothing is recorded."""


async def run(acts: Acts, kit: RunKit, opened: Open) -> None:
    """Take the investigation of `acts` from where its journal stands to its end.

    Returns at a terminal event. Raises FenceLost, Halted, StoreUnavailable, and what a stage raised;
    CancelledError passes. Called again on an ended journal it does nothing.
    """
    if _has_ended(acts):
        return
    state = await begin(acts, kit, opened)
    stages = _bind(acts, kit)
    for name in STAGES:
        if _is_done(state, name):
            continue
        with bound(stage=name):
            log().info("stage_started")
            update = await stages[name](state)
            await _commit(acts, kit, update)
            log().info("stage_committed")
        state = _state(acts)
        if state.facts is not None and state.facts.noise is not None:
            await _end_as_noise(acts, kit)
            return


async def begin(acts: Acts, kit: RunKit, opened: Open) -> Investigation:
    """Give the state that is recorded, or record the start."""
    if not any(isinstance(event.body, RunStarted) for event in acts.chronicle.events):
        first = await opened()
        await acts.append(
            RunStarted(
                identity=first.identity,
                origin=first.origin,
                episode=first.episode,
                models=kit.investigator.models,
                prompts={name: digest_of(raw) for name, raw in kit.prompts.items()},
                limits=kit.limits,
                started_at=first.started_at,
                deadline_at=first.started_at + timedelta(seconds=kit.limits.wall_clock_s),
                release=kit.release,
            ),
            contents={digest_of(raw): raw for raw in kit.prompts.values()},
        )
    return _state(acts)


async def conclude_failed(acts: Acts, kit: RunKit, opened: Open, *, reason: str = ATTEMPTS_USED_UP) -> None:
    """End an investigation whose attempts are used up, with a report of the evidence so far."""
    if _has_ended(acts):
        return
    await begin(acts, kit, opened)
    rebuilt = await rebuilt_from(acts)
    ended = end_of(rebuilt, acts.chronicle, kit.signer)
    await acts.append(
        RunFailed(reason=reason, projection_digest=ended.digest, signature=ended.signature, spend=rebuilt.spend),
        revisions=(Revision(kind=RevisionKind.FAILED, note=reason),),
        spend=rebuilt.spend,
    )


async def _end_as_noise(acts: Acts, kit: RunKit) -> None:
    rebuilt = await rebuilt_from(acts)
    ended = end_of(rebuilt, acts.chronicle, kit.signer)
    await acts.append(
        RunSucceeded(
            stop_reason="noise", projection_digest=ended.digest, signature=ended.signature, spend=rebuilt.spend
        ),
        spend=rebuilt.spend,
    )


# ---- the stages ----------------------------------------------------------------------------------------


def _bind(acts: Acts, kit: RunKit) -> dict[StageName, Stage]:
    gather = GatherKit(
        investigator=kit.investigator,
        connectors=kit.connectors,
        count_tokens=kit.count_tokens,
        boundary=kit.boundary,
        episode_changes=kit.episode_changes,
    )

    async def recorded(_: Investigation) -> ReportInputs:
        rebuilt = await rebuilt_from(acts)
        ended: Ended = end_of(rebuilt, acts.chronicle, kit.signer)
        return report_inputs(rebuilt, connectors=kit.connectors, ended=ended, ended_at=acts.clock.now())

    return {
        "resolve_integrations": resolve_integrations.bind(
            ResolveKit(connectors=kit.connectors, catalogue=kit.catalogue, health=kit.health), acts
        ),
        "extract_alert": extract_alert.bind(acts),
        "plan_actions": plan_actions.bind(PlanKit(connectors=kit.connectors), acts),
        "gather_evidence": gather_evidence.bind(gather, acts),
        "diagnose": diagnose.bind(
            DiagnoseKit(investigator=kit.investigator, analyst=kit.analyst, view=_fitted_view(gather, acts)),
            acts,
        ),
        "deliver": deliver.bind(DeliverKit(recorded=recorded), acts),
    }


def _fitted_view(gather: GatherKit, acts: Acts) -> Callable[[Investigation], Awaitable[LoopView]]:
    """Give the view that diagnose asks from: as the loop left it, and small enough for one more request."""

    async def view(state: Investigation) -> LoopView:
        loop = await load(acts)
        contents = await acts.contents(held_digests(loop))

        def seen(paths: tuple[str, ...]) -> LoopView:
            return loop_view(with_evicted(loop, paths), gather.frame, contents)

        def tokens(paths: tuple[str, ...]) -> int:
            return gather.count_tokens(gather.investigator.diagnose_request(seen(paths)))

        return seen(evictions(loop, room_tokens(state.limits), tokens))

    return view


async def _commit(acts: Acts, kit: RunKit, update: Update) -> None:
    """Record what a stage gave; the plan with the reservations of its seeds. `deliver` has recorded itself."""
    match update:
        case Planned(plan=plan):
            await acts.append(PlanCommitted(plan=plan), reservations=_seeds(plan, kit))
        case IntegrationsResolved() | FactsExtracted() | EvidenceGathered() | Diagnosed():
            await acts.append(StageCommitted(update=update))
        case Delivered():
            pass
        case unknown:
            assert_never(unknown)


def _seeds(plan: Plan, kit: RunKit) -> tuple[Reservation, ...]:
    tools = bound_tools(kit.connectors)
    return tuple(
        Reservation(
            key=seed.key,
            kind=EffectKind.QUERY,
            fingerprint=query_fingerprint(seed.query, tools[seed.query.tool].context),
            timeout_ms=seed.query.budget.timeout_ms,
        )
        for seed in plan.seeds
    )


_SECTIONS: dict[StageName, str] = {
    "resolve_integrations": "integrations",
    "extract_alert": "facts",
    "plan_actions": "plan",
    "gather_evidence": "gathered",
    "diagnose": "diagnosis",
    "deliver": "report",
}


def _is_done(state: Investigation, name: StageName) -> bool:
    return getattr(state, _SECTIONS[name]) is not None


def _state(acts: Acts) -> Investigation:
    bodies: list[EventBody] = [event.body for event in acts.chronicle.events]
    state = fold(bodies)
    if state is None:
        msg = "nothing was started"
        raise InvariantBroken(msg)
    return state


def _has_ended(acts: Acts) -> bool:
    return bool(acts.chronicle.events) and acts.chronicle.events[-1].body.kind in TERMINAL_KINDS
