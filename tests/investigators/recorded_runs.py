"""The whole pipeline with the analyst over a recorded incident: real HTTP to the recorded backend, a journal in memory.

found = await investigated(open_scenario("checkout_pool", seed=7))
wrong_with(found.diagnosis, found.truth)
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from inquest.bootstrap.workspace import Workspace, build_workspaces
from inquest.configuration.sections import Configuration
from inquest.domain.alert import Alert
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.investigation import Identity, Origin
from inquest.entrypoints.cli.demo import configuration_of
from inquest.investigators.analyst import Analyst
from inquest.runtime import pipeline
from inquest.runtime.effects import ClaimedActs
from inquest.runtime.keys import InstallationKey
from inquest.runtime.kit import Opened, RunKit
from inquest.runtime.terms import Terms
from inquest.scenarios.pack.format import Scenario, Truth
from inquest.scenarios.server import start
from inquest.sources import SOURCES
from inquest.stages.fold import fold
from inquest.stages.gather_evidence.kit import no_changes
from inquest.stages.tools import bound_tools
from inquest.store.lease import Opening
from inquest.store.memory import MemoryJournal
from tests.builders import episode

INVESTIGATION = "inv-1"
KEY = InstallationKey(bytes(32))


class RunningClock:
    """The clocks of this machine: the recorded backend ticks with them."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class Investigated(NamedTuple):
    """What the analyst came to, and the truth with its times as they were served."""

    diagnosis: Diagnosis
    truth: Truth


async def investigated(scenario: Scenario) -> Investigated:
    """Investigate `scenario` as the demo does, from its alert on.

    The environment must hold the two secrets that the demo's configuration names.
    """
    clock = RunningClock()
    with start(scenario, now=clock.now()) as backend:
        section = Configuration.model_validate(json.loads(configuration_of(backend)))
        workspace = build_workspaces(section, key=KEY, clock=clock, base=Path.cwd())["default"]
        try:
            alert = SOURCES["alertmanager"].parse(backend.alert).alerts[0]
            return Investigated(await _run(workspace, alert, clock), backend.scenario.header.truth)
        finally:
            await workspace.aclose()


async def _run(workspace: Workspace, alert: Alert, clock: RunningClock) -> Diagnosis:
    memory = MemoryJournal("default", clock)
    await memory.open(Opening(investigation_id=INVESTIGATION, episode_id="ep-1", session_id="alertmanager"))
    claimed = await memory.claim("owner")
    assert claimed is not None
    terms = Terms(
        fence=claimed.fence,
        clock=clock,
        tools=bound_tools(workspace.connectors),
        may_act=lambda: True,
        scrub=workspace.redactor.text,
    )
    acts = ClaimedActs(await memory.load(INVESTIGATION), terms, memory, memory)
    await pipeline.run(acts, _kit(workspace), lambda: _opened(alert, clock))
    state = fold([event.body for event in acts.chronicle.events])
    assert state is not None
    assert state.diagnosis is not None
    return state.diagnosis


def _kit(workspace: Workspace) -> RunKit:
    return RunKit(
        connectors=workspace.connectors,
        catalogue=workspace.catalogue,
        health={},
        investigator=Analyst(),
        analyst=Analyst(),
        count_tokens=lambda _: 0,
        prompts={},
        limits=workspace.limits,
        boundary="b0b1b2b3c4c5c6c7",
        signer=KEY,
        release="inquest/test",
        episode_changes=no_changes,
    )


async def _opened(alert: Alert, clock: RunningClock) -> Opened:
    now, known = clock.now(), episode(alert)
    member = known.members[0].but(first_seen=now, last_seen=now)
    return Opened(
        identity=Identity(workspace_id="default", task_id="ep-1", run_id=INVESTIGATION, session_id="alertmanager"),
        origin=Origin(intake="alertmanager", source="alertmanager"),
        episode=known.but(opened_at=now, members=(member,)),
        started_at=now,
    )
