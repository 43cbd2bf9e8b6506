"""A whole investigation over the in-memory journal: six stages, synthetic sources, and owners that may die.

runs = WholeRuns()
await runs.run()
runs.kinds(), await runs.projected(), runs.memory.revisions(INVESTIGATION)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from typing_extensions import override

from inquest.domain.alert import Alert
from inquest.domain.diagnosis import Proposal, Verdict
from inquest.domain.event import Event, TurnCommitted
from inquest.domain.fence import Fence
from inquest.domain.investigation import Identity, Origin
from inquest.domain.observation import Query
from inquest.domain.planned import Dispatch
from inquest.domain.signals import SignalContent
from inquest.domain.transcript import Reply
from inquest.errors import ModelError
from inquest.investigators.analyst import Analyst
from inquest.models.scripted import ScriptedInvestigator, count_tokens, in_order
from inquest.ports import Chronicle, Investigator, Write
from inquest.runtime import pipeline
from inquest.runtime.ends import conclude_failed
from inquest.runtime.keys import InstallationKey
from inquest.runtime.kit import Opened, RunKit
from inquest.stages.diagnosis_wire import write_proposal
from inquest.store.lease import Opening
from inquest.store.memory import MemoryJournal
from inquest.telemetry import Metrics, create_metrics
from tests.builders import T0, alert, at, changes, deployment, episode, logs, matrix, series
from tests.loop_deaths import Dying
from tests.loop_host import BOUNDARY, INVESTIGATION, Host, SyntheticTool, call, calls, judged, reply, tool

SIGNAL_ALERT = alert().but(generator_url="http://prometheus:9090/graph?g0.expr=errors+%3E+0.05&g0.tab=1")
PROMPTS = {"investigate": b"Look.", "diagnose": b"Say."}
SCRIPT = [
    calls(call("prometheus_query_range", "a", expression="latency"), call("loki_query", "b", expression="err")),
    calls(*judged("h1", "h2", "h3", "h4")),
    reply("The deployment broke it."),
]
DIAGNOSIS = reply(write_proposal(Proposal(verdict=Verdict.INCONCLUSIVE, root_cause="", author="scripted")))


def _errors(query: Query) -> SignalContent:
    values: list[float | None] = [*[0.01] * 90, *[0.9] * 30]
    return matrix(series(values, start=at(-90), metric=query.expression, service="checkout"))


def sources() -> list[SyntheticTool]:
    return [
        tool("prometheus_query_range", _errors),
        tool("prometheus_alerts", lambda _: matrix(), signal="alerts"),
        tool("gitlab_deployments", lambda _: changes(deployment("deploy-77", at(-1))), signal="changes"),
        tool("loki_query", lambda _: logs((at(1), "connection refused"), service="checkout"), signal="logs"),
    ]


class Spy(Dying):
    """A journal that never kills, and keeps what was written."""

    def __init__(self, memory: MemoryJournal) -> None:
        super().__init__(memory, -1, before=False)
        self.commits: list[Write] = []

    @override
    async def commit(self, write: Write) -> int:
        self.commits.append(write)
        return await super().commit(write)


@dataclass
class WholeRuns(Host):
    """One investigation, from its opening on."""

    tools: Sequence[SyntheticTool] = field(default_factory=sources)
    about: Alert = SIGNAL_ALERT
    script: Sequence[Reply | ModelError] = field(default_factory=lambda: SCRIPT)
    diagnosis: Reply | ModelError = field(default_factory=lambda: DIAGNOSIS)
    analyst: bool = False
    signer: InstallationKey | None = field(default_factory=lambda: InstallationKey(bytes(32)))
    metrics: Metrics = field(default_factory=create_metrics)

    @override
    async def start(self) -> Fence:
        """Open and claim; nothing is recorded yet."""
        await self.memory.open(Opening(investigation_id=INVESTIGATION, episode_id="ep-1", session_id="alertmanager"))
        return await self.claim()

    @override
    async def claim(self) -> Fence:
        """Claim as the next owner, now: what the one before held has run out, and no time has passed."""
        self.owners += 1
        if self.owners > 1:
            await self.memory.expire(INVESTIGATION)
        claimed = await self.memory.claim(f"owner-{self.owners}")
        if claimed is None:  # it died before it recorded anything
            self.clock.pass_(70)
            claimed = await self.memory.claim(f"owner-{self.owners}")
        assert claimed is not None
        fence: Fence = claimed.fence
        return fence

    async def run(self, fence: Fence | None = None, **changes: object) -> None:
        """Run to the end as `fence`, or as the first owner; `changes` are fields of the kit."""
        acts = await self.acts(fence or await self.start())
        await pipeline.run(acts, self.run_kit(**changes), self.opened)

    async def fail(self, fence: Fence) -> None:
        """End it as one whose attempts are used up."""
        await conclude_failed(await self.acts(fence), self.run_kit(), self.opened)

    async def run_and_die(self, dies_at: int, *, before: bool) -> bool:
        """Run as the first owner, who dies around its `dies_at`-th write; False when it ended before."""
        fence = await self.start()
        dying = Dying(self.memory, dies_at, before=before)
        self.wrap = lambda _: dying
        task, death = asyncio.create_task(self.run(fence)), asyncio.create_task(dying.dead.wait())
        done, _ = await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
        for one in (task, death):
            one.cancel()
        await asyncio.gather(task, death, return_exceptions=True)
        self.wrap = lambda memory: memory
        return task not in done

    def run_kit(self, **changes: object) -> RunKit:
        kit = RunKit(
            connectors=[self.connector],
            catalogue=(),
            health={"synthetic": "ok"},
            investigator=Analyst() if self.analyst else self._scripted(),
            analyst=Analyst(),
            count_tokens=count_tokens,
            prompts={} if self.analyst else PROMPTS,
            limits=self.limits,
            boundary=BOUNDARY,
            signer=self.signer,
            release="inquest/test",
            episode_changes=self.episode_changes,
            metrics=self.metrics,
        )
        return RunKit(**{**kit.__dict__, **changes})

    def _scripted(self) -> Investigator:
        script = in_order(self.script)
        self.investigator = ScriptedInvestigator(script, diagnosis=self.diagnosis)
        self.asked.append(self.investigator)
        return self.investigator

    async def opened(self) -> Opened:
        self.openings += 1
        return Opened(
            identity=Identity(workspace_id="main", task_id="ep-1", run_id=INVESTIGATION, session_id="alertmanager"),
            origin=Origin(intake="alertmanager", source="alertmanager"),
            episode=episode(self.about),
            started_at=T0,
        )

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self.openings = 0
        self.asked: list[ScriptedInvestigator] = []

    # ---- looking

    async def events(self) -> tuple[Event, ...]:
        return (await self.chronicle()).events

    async def kinds(self) -> list[str]:
        """Name the events, a stage's by the stage, without the take-overs."""
        return [_named(event) for event in await self.events() if event.body.kind != "generation_advanced"]

    async def bought_too_often(self) -> list[str]:
        """Name the queries that were sent, and turns that were asked, more often than their rows say."""
        chronicle = await self.chronicle()
        dispatches = {row.key: row.dispatches for row in chronicle.effects}
        ran = Counter(query.canonical_digest() for one in self.tools for query in one.ran)
        asked = Counter(f"turn/{view.turn}" for one in self.asked for view in one.views)
        often = {key: ran[query.canonical_digest()] for key, query in _queries(chronicle).items()} | dict(asked)
        return [key for key, times in often.items() if times > dispatches[key]]


def _queries(chronicle: Chronicle) -> dict[str, Query]:
    found: dict[str, Query] = {}
    for event in chronicle.events:
        if isinstance(event.body, TurnCommitted):
            plans = [one.plan for one in event.body.calls]
            found |= {plan.key: plan.query for plan in plans if isinstance(plan, Dispatch)}
        if event.body.kind == "plan_committed":
            found |= {seed.key: seed.query for seed in event.body.plan.seeds}
    return found


def _named(event: Event) -> str:
    body = event.body
    return body.update.stage if body.kind == "stage_committed" else body.kind
