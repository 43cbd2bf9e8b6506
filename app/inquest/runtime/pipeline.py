"""The six stages in order, for one claimed investigation: what is recorded is skipped, what is not is done.

Each stage's update commits in a transaction of its own; the last one commits with the end of the run. A
stage that raises is not caught here: the worker reports it, and the journal keeps what was done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from inquest.domain.delivery import RevisionKind
from inquest.domain.effect import EffectKind, Reservation
from inquest.domain.event import EventBody, PlanCommitted, StageCommitted
from inquest.domain.fingerprint import query_fingerprint
from inquest.domain.investigation import (
    Delivered,
    Diagnosed,
    EvidenceGathered,
    FactsExtracted,
    IntegrationsResolved,
    Investigation,
    Plan,
    Planned,
    Update,
)
from inquest.errors import FenceLost, Halted, InvariantBroken, StoreUnavailable, WaitsForAnswer
from inquest.ports import Acts, Connector, LoopView, Revision
from inquest.runtime.ends import count_end, end_as_noise, has_ended, start
from inquest.runtime.kit import Open, RunKit
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
from inquest.stages.gather_evidence.state import LoopState
from inquest.stages.gather_evidence.view import held_digests, loop_view, with_evicted
from inquest.stages.kit import Stage
from inquest.stages.plan_actions import PlanKit
from inquest.stages.report import ReportInputs
from inquest.stages.resolve_integrations import ResolveKit
from inquest.stages.tools import bound_tools
from inquest.telemetry import bound, log


async def run(acts: Acts, kit: RunKit, opened: Open) -> None:
    """Take the investigation of `acts` from where its journal stands to its end.

    Returns at a terminal event, and when a human was asked. Raises FenceLost, Halted, StoreUnavailable, and what a stage raised;
    CancelledError passes. Called again on an ended journal it does nothing.
    """
    if has_ended(acts):
        return
    await begin(acts, kit, opened)
    try:
        state = await run_stages(acts, kit, STAGES)
    except WaitsForAnswer as asked:
        log().info("waits_for_answer", interrupt=str(asked))
        return
    if _is_noise(state):
        await end_as_noise(acts, kit)
    count_end(acts, kit)


async def run_stages(acts: Acts, kit: RunKit, names: Sequence[StageName]) -> Investigation:
    """Do those of the stages `names`, in their order, that are not recorded, and give the state after them.

    What turns out to be noise goes no further. Raises as `run`, and WaitsForAnswer when a human was asked;
    InvariantBroken when nothing was started.
    """
    state = _state(acts)
    stages = _bind(acts, kit)
    for name in names:
        if _is_noise(state) or _is_done(state, name):
            continue
        with _in_stage(name, kit):
            await _commit(acts, kit, await stages[name](state))
        state = _state(acts)
    return state


@contextmanager
def _in_stage(name: StageName, kit: RunKit) -> Iterator[None]:
    """Log and count what happens in a stage. What it raises passes; a lost fence or database is no error of its."""
    with bound(stage=name):
        log().info("stage_started")
        try:
            yield
        except WaitsForAnswer:
            if kit.metrics is not None:
                kit.metrics.questions.labels("asked").inc()
            raise
        except (FenceLost, Halted, StoreUnavailable):
            raise
        except Exception as error:
            log().error("stage_failed", error=type(error).__name__)
            if kit.metrics is not None:
                kit.metrics.stage_errors.labels(name).inc()
            raise
        log().info("stage_committed")


async def begin(acts: Acts, kit: RunKit, opened: Open) -> Investigation:
    """Give the state that is recorded, or record the start."""
    await start(acts, kit, opened)
    return _state(acts)


# ---- the stages ----------------------------------------------------------------------------------------


def _bind(acts: Acts, kit: RunKit) -> dict[StageName, Stage]:
    gather = GatherKit(
        investigator=kit.investigator,
        connectors=kit.connectors,
        count_tokens=kit.count_tokens,
        price=kit.price,
        boundary=kit.boundary,
        episode_changes=kit.episode_changes,
    )
    left = _LeftLoop(acts)

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
        "gather_evidence": gather_evidence.bind(gather, acts, leave=left.keep),
        "diagnose": diagnose.bind(
            DiagnoseKit(
                investigator=kit.investigator,
                analyst=kit.analyst,
                view=_fitted_view(gather, acts, left),
                count_tokens=kit.count_tokens,
                price=kit.price,
            ),
            acts,
        ),
        "deliver": deliver.bind(DeliverKit(recorded=recorded), acts),
    }


class _LeftLoop:
    """The state in which this owner's loop ended, for the diagnosis: the journal need not be folded for it again."""

    def __init__(self, acts: Acts) -> None:
        self._acts = acts
        self._state: LoopState | None = None
        self._version = 0

    def keep(self, state: LoopState) -> None:
        """Take the state as it is with the next event."""
        self._state, self._version = state, self._acts.chronicle.version + 1

    async def now(self) -> LoopState:
        """Give the state of the loop; folded where another owner's loop has ended, or more was recorded since."""
        if self._state is not None and self._version == self._acts.chronicle.version:
            return self._state
        return await load(self._acts)


def _fitted_view(gather: GatherKit, acts: Acts, left: _LeftLoop) -> Callable[[Investigation], Awaitable[LoopView]]:
    """Give the view that diagnose asks from: as the loop left it, and small enough for one more request."""

    async def view(state: Investigation) -> LoopView:
        loop = await left.now()
        contents = await acts.contents(held_digests(loop))

        def seen(paths: tuple[str, ...]) -> LoopView:
            return loop_view(with_evicted(loop, paths), gather.frame, contents)

        def tokens(paths: tuple[str, ...]) -> int:
            return gather.count_tokens(gather.investigator.diagnose_request(seen(paths)))

        return seen(evictions(loop, room_tokens(state.limits), tokens))

    return view


async def _commit(acts: Acts, kit: RunKit, update: Update) -> None:
    """Record what a stage gave; the plan with the reservations of its seeds, and the word that it is in progress.

    `deliver` has recorded itself.
    """
    match update:
        case Planned(plan=plan):
            await acts.append(
                PlanCommitted(plan=plan),
                reservations=seed_reservations(plan, kit.connectors),
                revisions=(Revision(kind=RevisionKind.PROGRESS),),
            )
        case IntegrationsResolved() | FactsExtracted() | EvidenceGathered() | Diagnosed():
            await acts.append(StageCommitted(update=update))
        case Delivered():
            pass
        case unknown:
            assert_never(unknown)


def seed_reservations(plan: Plan, connectors: Sequence[Connector]) -> tuple[Reservation, ...]:
    """Give what plan_committed reserves in its own transaction, so that the seed batch is planned once."""
    tools = bound_tools(connectors)
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


def _is_noise(state: Investigation) -> bool:
    return state.facts is not None and state.facts.noise is not None


def _is_done(state: Investigation, name: StageName) -> bool:
    return getattr(state, _SECTIONS[name]) is not None


def _state(acts: Acts) -> Investigation:
    bodies: list[EventBody] = [event.body for event in acts.chronicle.events]
    state = fold(bodies)
    if state is None:
        msg = "nothing was started"
        raise InvariantBroken(msg)
    return state
