"""A host for one loop in this process: the in-memory journal, synthetic tools, a scripted investigator.

host = Host([tool("metrics_query")])
await host.start()
gathered = await host.gather(in_order([calls(call("metrics_query", expression="up")), reply("It broke.")]))
host.executions, host.events(LoopSteered), (await host.state()).answers
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from inquest.domain.budget import Limits, PlanBudget
from inquest.domain.canonical import canonical_json
from inquest.domain.effect import EffectKind, Reservation
from inquest.domain.event import EpisodeChanged, EventBody, PlanCommitted, RunStarted, StageCommitted
from inquest.domain.fence import Fence
from inquest.domain.fingerprint import query_fingerprint
from inquest.domain.hypothesis import Hypothesis
from inquest.domain.investigation import (
    ConnectedSource,
    EvidenceGathered,
    FactsExtracted,
    Gathered,
    Integrations,
    IntegrationsResolved,
    Plan,
    RankedTool,
    SeedCall,
    ServiceGuess,
)
from inquest.domain.observation import Context, Error, Ok, Outcome, Partial, Query, Signal
from inquest.domain.projection import Projection
from inquest.domain.signals import SignalContent
from inquest.domain.tool import ToolSpec
from inquest.domain.transcript import Reply, ToolCall
from inquest.domain.value import Json
from inquest.models.scripted import Line, ScriptedInvestigator, count_tokens
from inquest.ports import Chronicle, InvalidQuery, LoopView, Reading
from inquest.runtime.effects import ClaimedActs
from inquest.runtime.replay import Rebuilt, contents_wanted, projection, rebuild
from inquest.runtime.replies import as_it_is
from inquest.runtime.terms import Terms
from inquest.stages.cost import Price, costs_nothing
from inquest.stages.fold import fold
from inquest.stages.gather_evidence.kit import GatherKit, no_changes
from inquest.stages.gather_evidence.stage import bind
from inquest.stages.gather_evidence.state import LoopState
from inquest.stages.tools import bound_tools
from inquest.store.lease import Opening
from inquest.store.memory import MemoryJournal
from tests.builders import T0, episode, facts, investigation, matrix, observation, series

INVESTIGATION = "inv-1"
BOUNDARY = "b0b1b2b3c4c5c6c7"
CONTEXT = Context(issuer="", audience="", resource="", tenant="", workspace="main", connector="synthetic")
E = TypeVar("E", bound=EventBody)


class StillClock:
    """A clock that moves only when told."""

    def __init__(self, moment: datetime = T0) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def pass_(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


# ---- synthetic tools -------------------------------------------------------------------------------------


def parameters(**more: Json) -> dict[str, Json]:
    """Give the schema of a tool with a free expression and a time range."""
    text: Json = {"type": "string"}
    properties: dict[str, Json] = {"expression": text, "start": text, "end": text, **more}
    return {"type": "object", "properties": properties, "required": ["expression"], "additionalProperties": False}


def spec(
    name: str, *, signal: Signal = "metrics", description: str = "Read a synthetic thing.", cost: int = 3
) -> ToolSpec:
    return ToolSpec(
        name=name, description=description, parameters=parameters(), source="synthetic", signal=signal, cost=cost
    )


Answering = Callable[[Query], SignalContent | Outcome]


def one_series(query: Query) -> SignalContent:
    """Answer with a series that is different for each expression."""
    return matrix(series([1.0, 2.0, 3.0], metric=query.expression))


class SyntheticTool:
    """Answers from a function of the query; counts what it ran, and how many at once."""

    def __init__(self, about: ToolSpec, answering: Answering = one_series) -> None:
        self._spec = about
        self._answering = answering
        self.ran: list[Query] = []
        self.at_once = 0
        self.most_at_once = 0
        self.hold: Callable[[Query], Awaitable[None]] | None = None

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    def prepare(self, arguments: Mapping[str, object], query: Query) -> Query:
        if arguments.get("expression") == "invalid(":
            raise InvalidQuery("expression: expected ')' at 8")
        return query

    async def read(self, context: Context, query: Query) -> Reading:
        self.ran.append(query)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.hold is not None:
                await self.hold(query)
            await asyncio.sleep(0)
            return self._reading(self._answering(query), query)
        finally:
            self.at_once -= 1

    def _reading(self, answer: SignalContent | Outcome, query: Query) -> Reading:
        if isinstance(answer, Ok | Partial | Error):
            return Reading(outcome=answer, contents={})
        seen = observation(
            answer,
            source=self._spec.source,
            signal=self._spec.signal,
            tool=query.tool,
            expression=query.expression,
            service=query.service_id,
            time_range=query.time_range,
            cursor=query.cursor,
        )
        stored = canonical_json(answer.model_dump(mode="json"))
        return Reading(outcome=Ok(observations=(seen,)), contents={seen.digest: stored})


def tool(name: str, answering: Answering = one_series, *, signal: Signal = "metrics", cost: int = 3) -> SyntheticTool:
    return SyntheticTool(spec(name, signal=signal, cost=cost), answering)


@dataclass
class SyntheticConnector:
    tools: Sequence[SyntheticTool]
    name: str = "synthetic"
    type: str = "synthetic"
    context: Context = CONTEXT

    def link(self, query: Query) -> str:
        return ""

    async def health(self) -> Literal["ok", "failing"]:
        return "ok"

    async def aclose(self) -> None:
        return None


# ---- lines of a script -----------------------------------------------------------------------------------


def call(name: str, call_id: str = "", /, **arguments: Json) -> ToolCall:
    return called(name, arguments, call_id)


def called(name: str, arguments: Mapping[str, Json], call_id: str = "") -> ToolCall:
    return raw_call(name, json.dumps(arguments), call_id)


def raw_call(name: str, arguments: str, call_id: str = "") -> ToolCall:
    return ToolCall(call_id=call_id or f"id-{name}", name=name, arguments=arguments)


def calls(*asked: ToolCall, content: str = "") -> Reply:
    return Reply(content=content, tool_calls=asked, finish_reason="tool_calls", model="scripted")


def reply(content: str) -> Reply:
    return Reply(content=content, finish_reason="stop", model="scripted")


def judged(*names: str, evidence: Sequence[str] = ("E1",)) -> list[ToolCall]:
    """Call judge for each hypothesis."""
    cited: list[Json] = list(evidence)
    return [
        call("judge", hypothesis=name, judgement="refuted", evidence=cited, reason="the evidence says so")
        for name in names
    ]


# ---- the host --------------------------------------------------------------------------------------------


@dataclass
class Host:
    """One investigation up to its committed plan, and owners of its loop."""

    tools: Sequence[SyntheticTool]
    limits: Limits = field(default_factory=Limits)
    signals: tuple[Signal, ...] = ("metrics",)
    hypotheses: tuple[str, ...] = ("h1",)
    planned: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    wrap: Callable[[MemoryJournal], Any] = lambda journal: journal
    episode_changes: Callable[[], Awaitable[EpisodeChanged | None]] = no_changes
    price: Price = costs_nothing
    lease_lives: bool = True
    scrub: Callable[[str], str] = as_it_is
    begins: datetime = T0
    """When the clock begins: a real store compares deadlines with its own."""
    store: Any = None
    """Another store with the methods of MemoryJournal that are used here."""

    def __post_init__(self) -> None:
        self.clock = StillClock(self.begins)
        self.memory = self.store or MemoryJournal("main", self.clock)
        self.connector = SyntheticConnector(self.tools)
        self.owners = 0
        self.slept: list[float] = []
        self.investigator: ScriptedInvestigator | None = None
        self.views: list[LoopView] = []
        """What every owner's investigator was shown, in order."""

    async def start(self) -> Fence:
        """Open, claim and commit everything up to the plan."""
        await self.memory.open(Opening(investigation_id=INVESTIGATION, episode_id="ep-1", session_id="alertmanager"))
        fence = await self.claim()
        acts = await self.acts(fence)
        for events, reservations in self._before_the_loop():
            await acts.append(*events, reservations=reservations)
        return fence

    async def claim(self) -> Fence:
        """Claim as the next owner, after the lease of the one before has run out."""
        self.owners += 1
        self.clock.pass_(0 if self.owners == 1 else 10)
        claimed = await self.memory.claim(f"owner-{self.owners}")
        if claimed is None:  # the owner before had got nowhere: the attempt is charged, and the next one waits
            self.clock.pass_(70)
            claimed = await self.memory.claim(f"owner-{self.owners}")
        assert claimed is not None
        return claimed.fence

    async def acts(self, fence: Fence) -> ClaimedActs:
        journal = self.wrap(self.memory)
        return ClaimedActs(await self.memory.load(INVESTIGATION), self.terms(fence), journal, journal)

    def terms(self, fence: Fence) -> Terms:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.clock.pass_(seconds)

        return Terms(
            fence=fence,
            clock=self.clock,
            tools=bound_tools([self.connector]),
            may_act=lambda: self.lease_lives,
            scrub=self.scrub,
            sleep=sleep,
        )

    def kit(self, script: Callable[[LoopView], Line]) -> GatherKit:
        def kept(view: LoopView) -> Line:
            self.views.append(view)
            return script(view)

        self.investigator = ScriptedInvestigator(kept)
        return GatherKit(
            investigator=self.investigator,
            connectors=[self.connector],
            count_tokens=count_tokens,
            price=self.price,
            boundary=BOUNDARY,
            episode_changes=self.episode_changes,
        )

    async def gather(self, script: Callable[[LoopView], Line], fence: Fence | None = None) -> Gathered:
        """Run the stage to its end and commit its section."""
        fence = fence or await self.start()
        acts = await self.acts(fence)
        state = fold(event.body for event in acts.chronicle.events)
        assert state is not None
        if state.gathered is not None:
            return state.gathered
        update = await bind(self.kit(script), acts)(state)
        assert isinstance(update, EvidenceGathered)
        await acts.append(StageCommitted(update=update))
        return update.gathered

    # ---- looking

    @property
    def executions(self) -> int:
        return sum(len(one.ran) for one in self.tools)

    async def chronicle(self) -> Chronicle:
        return await self.memory.load(INVESTIGATION)

    async def rebuilt(self) -> Rebuilt:
        chronicle = await self.chronicle()
        return rebuild(chronicle, await self.memory.content(contents_wanted(chronicle)))

    async def state(self) -> LoopState:
        loop = (await self.rebuilt()).loop
        assert loop is not None
        return loop

    async def projected(self) -> Projection:
        return projection(await self.rebuilt(), (await self.chronicle()).events)

    async def bodies(self, kind: type[E]) -> list[E]:
        return [event.body for event in (await self.chronicle()).events if isinstance(event.body, kind)]

    # ---- what stands before the loop

    def _before_the_loop(self) -> Iterable[tuple[tuple[EventBody, ...], tuple[Reservation, ...]]]:
        whole = investigation()
        started = RunStarted(
            identity=whole.identity,
            origin=whole.origin,
            episode=episode(),
            models=("scripted",),
            prompts={},
            limits=self.limits,
            started_at=self.begins,
            deadline_at=self.begins + timedelta(seconds=self.limits.wall_clock_s),
            release="test",
        )
        yield (started,), ()
        source = ConnectedSource(
            name="synthetic",
            type="synthetic",
            signals=self.signals,
            tools=tuple(one.spec.name for one in self.tools),
            health="ok",
        )
        service = ServiceGuess(service_id="checkout", how="catalogue")
        integrations = Integrations(sources=(source,), service=service)
        yield (StageCommitted(update=IntegrationsResolved(integrations=integrations)),), ()
        yield (StageCommitted(update=FactsExtracted(facts=facts())),), ()
        plan = self._plan()
        yield (PlanCommitted(plan=plan),), tuple(_reservation(seed) for seed in plan.seeds)

    def _plan(self) -> Plan:
        return Plan(
            objective="Find what made CheckoutErrors fire.",
            hypotheses=tuple(
                Hypothesis(name=name, text=f"{name} broke it", refuted_by="nothing of it") for name in self.hypotheses
            ),
            tools=tuple(RankedTool(name=name, score=0.5, rationale="planned") for name in self.planned),
            seeds=tuple(
                SeedCall(key=f"seed/{number}", query=self._seed(expression), why="look first")
                for number, expression in enumerate(self.seeds, start=1)
            ),
            budget=PlanBudget(
                max_model_turns=self.limits.max_model_turns,
                max_connector_effects=self.limits.max_connector_effects,
                deadline_at=self.begins + timedelta(seconds=self.limits.wall_clock_s),
            ),
        )

    def _seed(self, expression: str) -> Query:
        return Query(
            tool=self.tools[0].spec.name,
            service_id="checkout",
            arguments={"expression": expression},
            time_range=facts().window.incident,
        )


def _reservation(seed: SeedCall) -> Reservation:
    return Reservation(key=seed.key, kind=EffectKind.QUERY, fingerprint=query_fingerprint(seed.query, CONTEXT))
