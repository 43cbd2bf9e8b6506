"""One investigation in a host's process: stages 1 to 3 as given, 4 and 5 run, nothing delivered."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version

from inquest.domain.budget import Limits, Spend
from inquest.domain.canonical import digest_of
from inquest.domain.event import TERMINAL_KINDS, EventBody, RunStarted
from inquest.domain.fence import Fence
from inquest.domain.hypothesis import Ledger
from inquest.domain.investigation import Facts, Identity, Plan, ServiceGuess
from inquest.domain.projection import Projection
from inquest.errors import IdentityMismatch, InvariantBroken
from inquest.investigators.analyst import Analyst
from inquest.investigators.with_model import ModelInvestigator
from inquest.library.given import Beginning, Given, check_runnable, check_same, first_events, limits_of, service_of
from inquest.library.investigators import price_of, prompts_of, token_counter
from inquest.ports import Acts, Chronicle, Clock, Connector, Effects, Investigator, Journal
from inquest.runtime import pipeline
from inquest.runtime.effects import ClaimedActs
from inquest.runtime.ends import end_without_report
from inquest.runtime.keys import SEED_BYTES, InstallationKey
from inquest.runtime.kit import RunKit
from inquest.runtime.recording import rebuilt_from
from inquest.runtime.replay import contents_wanted, projection, replay
from inquest.runtime.terms import Terms
from inquest.stages import StageName
from inquest.stages.gather_evidence.kit import no_changes
from inquest.stages.tools import bound_tools
from inquest.telemetry import bound
from inquest.wire.redaction import Redactor

RUN_HERE: tuple[StageName, ...] = ("gather_evidence", "diagnose")


def _always() -> bool:
    return True


@dataclass(frozen=True)
class HostTerms:
    """What a host may lend a run beside what it must; each part has a default.

    `key` signs the end and derives the boundary around untrusted text: with a journal that outlives the process,
    give the same one to every process, or a resumed run asks the model otherwise than it began to. Without one the
    boundary comes from a key of this process, and nothing is signed. `limits` are the ceilings of tokens, dollars
    and window, fixed when a run begins; turns, effects and deadline are the plan's. `service` says how the sources
    select the service (facts name it only). `redactor` knows the secret values that no text of a model may repeat.
    `may_act` is false once the host's right to act has run out: nothing more is sent then, and FenceLost is raised.
    """

    key: InstallationKey | None = None
    limits: Limits | None = None
    service: ServiceGuess | None = None
    redactor: Redactor | None = None
    may_act: Callable[[], bool] = _always


async def run_investigation(  # noqa: PLR0913  # the ports and values of design 13, all by name
    *,
    journal: Journal,
    effects: Effects,
    investigator: Investigator,
    connectors: Sequence[Connector],
    clock: Clock,
    identity: Identity,
    fence: Fence,
    facts: Facts,
    plan: Plan,
    terms: HostTerms = HostTerms(),
) -> Projection:
    """Take the run `identity.run_id` from where its journal stands to its end, and give what it came to.

    The first call records facts and plan. Called again with the same identity, facts and plan and the current
    fence it resumes: what has a receipt is not asked again. A run that has ended gives the same projection, byte
    for byte, whatever the fence, with no effect and no write. One call at a time for one fence.

    Refused, with no effect and no write: IdentityMismatch (the run has another identity, or the fence is of
    another run), PlanMismatch (it began with other facts or another plan), ConfigurationError (facts and plan that
    cannot be run), NotFound (the journal has no such run). FenceLost: another owner took over, or the run waits
    for an answer; nothing more was sent. WaitsForAnswer: the model asked a human, which it may only where
    `terms.limits.max_questions` is not 0; it names the interrupt, the journal takes the answer, and with a new claim the
    next call goes on. Halted, StoreUnavailable: call again later. BudgetExhausted is not
    raised: a ceiling ends the loop, and the projection says so. What a stage raises beside these is a bug;
    CancelledError passes. After any of them what is recorded stays, and the next call goes on from it.
    """
    given = Given(identity=identity, facts=facts, plan=plan)
    if fence.investigation_id != identity.run_id:
        raise IdentityMismatch(f"the fence is of run {fence.investigation_id}, the identity of {identity.run_id}")
    chronicle = await journal.load(identity.run_id)
    check_same(given, _bodies(chronicle))
    if _is_over(chronicle):
        return await _projection_at_end(journal, chronicle, identity)
    acts = ClaimedActs(chronicle, _terms(fence, clock, connectors, terms), journal, effects)
    started = _started(chronicle)
    if started is None:
        await _begin(acts, given, investigator, connectors, terms)
    else:
        await acts.append()  # writes nothing and proves the fence: what its owner reserved is sent without asking again
        investigator = await _as_begun(investigator, started, acts)
    with bound(investigation=identity.run_id, workspace=identity.workspace_id):
        return await _run(acts, _kit(acts, investigator, connectors, terms))


async def _run(acts: Acts, kit: RunKit) -> Projection:
    state = await pipeline.run_stages(acts, kit, RUN_HERE)
    noise = state.facts is not None and state.facts.noise is not None
    if state.gathered is None and not noise:
        msg = "the loop ended without a reason"
        raise InvariantBroken(msg)
    await end_without_report(acts, kit, "noise" if state.gathered is None else state.gathered.stop_reason)
    return projection(await rebuilt_from(acts), acts.chronicle.events)


async def _begin(
    acts: Acts, given: Given, investigator: Investigator, connectors: Sequence[Connector], terms: HostTerms
) -> None:
    """Record the start, the sections of stages 1 to 3 and the seeds' reservations, in one transaction."""
    check_runnable(given, connectors)
    now = acts.clock.now()
    prompts = prompts_of(investigator)
    beginning = Beginning(
        models=investigator.models,
        limits=limits_of(given.plan, terms.limits or _usual_limits(investigator), now),
        service=terms.service or service_of(given.facts),
        release=f"inquest/{version('inquest')}",
        now=now,
    )
    events = first_events(given, beginning, connectors, prompts)
    reserved = () if given.facts.noise is not None else pipeline.seed_reservations(given.plan, connectors)
    await acts.append(*events, reservations=reserved, contents={digest_of(raw): raw for raw in prompts.values()})


def _usual_limits(investigator: Investigator) -> Limits:
    """Give the default ceilings, with the window of the model that is asked."""
    if not isinstance(investigator, ModelInvestigator):
        return Limits()
    return Limits(context_window_tokens=investigator.model.window_tokens())


async def _as_begun(investigator: Investigator, started: RunStarted, acts: Acts) -> Investigator:
    """Give `investigator` with the models and prompts that the run fixed at its start, where it has any."""
    if not isinstance(investigator, ModelInvestigator):
        return investigator
    stored = await acts.contents(list(started.prompts.values()))
    prompts = {name: stored[digest].decode("utf-8") for name, digest in started.prompts.items()}
    return replace(investigator, models=started.models, prompts={**investigator.prompts, **prompts})


def _terms(fence: Fence, clock: Clock, connectors: Sequence[Connector], lent: HostTerms) -> Terms:
    redactor = lent.redactor or Redactor()
    return Terms(fence=fence, clock=clock, tools=bound_tools(connectors), may_act=lent.may_act, scrub=redactor.text)


def _kit(acts: Acts, investigator: Investigator, connectors: Sequence[Connector], lent: HostTerms) -> RunKit:
    key = lent.key or _key_of_this_process()
    return RunKit(
        connectors=connectors,
        catalogue=(),
        health={},
        investigator=investigator,
        analyst=Analyst(),
        count_tokens=token_counter(investigator),
        price=price_of(investigator),
        prompts={},
        limits=Limits(),
        boundary=key.boundary(acts.chronicle.investigation_id),
        signer=lent.key,
        release="",
        episode_changes=no_changes,
    )


@lru_cache(maxsize=1)
def _key_of_this_process() -> InstallationKey:
    return InstallationKey(secrets.token_bytes(SEED_BYTES))


# ---- what is recorded ------------------------------------------------------------------------------------


async def _projection_at_end(journal: Journal, chronicle: Chronicle, identity: Identity) -> Projection:
    """Read what an ended run came to. Raises ReplayMismatch for a journal that is not what it was."""
    if _started(chronicle) is None:  # cancelled before it began
        return Projection(
            identity=identity,
            plan=None,
            ledger=Ledger(),
            evidence=(),
            citations=(),
            decisions=(),
            diagnosis=None,
            spend=Spend(),
            stop_reason="",
        )
    return replay(chronicle, await journal.content(contents_wanted(chronicle)))


def _bodies(chronicle: Chronicle) -> list[EventBody]:
    return [event.body for event in chronicle.events]


def _started(chronicle: Chronicle) -> RunStarted | None:
    return next((body for body in _bodies(chronicle) if isinstance(body, RunStarted)), None)


def _is_over(chronicle: Chronicle) -> bool:
    return bool(chronicle.events) and chronicle.events[-1].body.kind in TERMINAL_KINDS
