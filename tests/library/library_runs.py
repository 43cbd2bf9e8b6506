"""Whole runs through the library over a journal, with synthetic sources and owners that may die.

runs = LibraryRuns(by="analyst")
projection = await runs.investigate(await runs.start())
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from typing_extensions import override

from inquest.domain.fence import Fence
from inquest.domain.investigation import Facts, Identity, Plan
from inquest.domain.projection import Projection
from inquest.domain.transcript import AssistantTurn, ModelRequest, Reply
from inquest.investigators.analyst import Analyst
from inquest.investigators.with_model import ModelInvestigator
from inquest.library import HostTerms, propose_plan, run_investigation
from inquest.models.scripted import ScriptedInvestigator, count_tokens, in_order
from inquest.ports import Investigator
from inquest.runtime.keys import InstallationKey
from tests.builders import NOW, facts
from tests.loop_deaths import Dying
from tests.loop_host import INVESTIGATION
from tests.runtime.whole_runs import DIAGNOSIS, SCRIPT, WholeRuns

IDENTITY = Identity(workspace_id="main", task_id="ep-1", run_id=INVESTIGATION, session_id="alertmanager")
NOBODY = Fence(investigation_id=INVESTIGATION, owner_id="nobody", generation=9, attempt=1)
PROMPTS = {"investigate": "Look.", "diagnose": "Say."}
KEY = InstallationKey(bytes(32))
BY = ("analyst", "script", "model")


class ModelOfTurns:
    """A model that says the line of the turn it is asked for, read off the request: it knows nothing of processes."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> Reply:
        self.requests.append(request)
        if request.purpose != "turn":
            return DIAGNOSIS
        turn = sum(isinstance(message, AssistantTurn) for message in request.messages)
        return SCRIPT[min(turn, len(SCRIPT) - 1)]

    def count_tokens(self, request: ModelRequest) -> int:
        return count_tokens(request)

    def window_tokens(self) -> int:
        return 64_000

    def most_usd_micros(self, input_tokens: int, output_tokens: int) -> int:
        return input_tokens + output_tokens


@dataclass
class LibraryRuns(WholeRuns):
    """As `WholeRuns`, but `run` is the library's `run_investigation`."""

    by: str = "script"
    begins: datetime = NOW
    model: ModelOfTurns = field(default_factory=ModelOfTurns)
    prompts: dict[str, str] = field(default_factory=lambda: dict(PROMPTS))
    lent: HostTerms = field(default_factory=lambda: HostTerms(key=KEY))
    identity: Identity = IDENTITY
    given_facts: Facts = field(default_factory=facts)
    planned_with: Callable[[Plan], Plan] = lambda plan: plan

    @override
    async def run(self, fence: Fence | None = None, **changes: object) -> None:
        await self.investigate(fence or await self.start(), **changes)

    async def investigate(self, fence: Fence, **changes: object) -> Projection:
        """Run as `fence`; `changes` take the place of identity, facts, plan or terms."""
        given = {"identity": self.identity, "facts": self.given_facts, "plan": self.given_plan, "terms": self.lent}
        journal = self.wrap(self.memory)
        return await run_investigation(
            journal=journal,
            effects=journal,
            investigator=self.new_investigator(),
            connectors=[self.connector],
            clock=self.clock,
            fence=fence,
            **{**given, **changes},  # type: ignore[arg-type]  # each is of its own type
        )

    async def cut_after(self, write: int, fence: Fence) -> None:
        """Run as `fence`, and cut the call after its `write`-th write: its process lives on."""
        dying = Dying(self.memory, write, before=False)
        self.wrap = lambda _: dying
        task = asyncio.create_task(self.investigate(fence))
        await dying.dead.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.wrap = lambda memory: memory

    @property
    def given_plan(self) -> Plan:
        """Give the same plan each time."""
        deadline_at = self.begins + timedelta(minutes=10)
        return self.planned_with(propose_plan(self.given_facts, [self.connector], deadline_at=deadline_at))

    def new_investigator(self) -> Investigator:
        """Give an investigator as a process that starts anew makes it."""
        if self.by == "analyst":
            return Analyst()
        if self.by == "model":
            return ModelInvestigator(self.model, ("provider/one",), dict(self.prompts))
        self.investigator = ScriptedInvestigator(in_order(self.script), diagnosis=self.diagnosis)
        self.asked.append(self.investigator)
        return self.investigator
