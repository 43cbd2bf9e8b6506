"""Investigations in this process over a real Postgres, with a scripted model and a source that answers at once.

The pipeline, the loop, the door, the journal and the claim are the product's; the worker around them is not there.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from bench.door import TimedClaiming, covered
from bench.errors import BenchBroken
from bench.installation import Installation
from bench.instant_source import TOOL, InstantSource
from bench.posts import new_post
from bench.script import Shape, replies
from inquest.bootstrap.workspace import Workspace, build_workspaces
from inquest.configuration.file import read
from inquest.domain.canonical import digest_of
from inquest.domain.intake import Arrival
from inquest.domain.value import Value, rfc3339
from inquest.models.scripted import ScriptedModel
from inquest.runtime.clock import RandomIds, SystemClock
from inquest.runtime.intake import accept
from inquest.runtime.keys import InstallationKey, load_or_make
from inquest.runtime.lease import LeaseGuard
from inquest.sources.alertmanager import parse
from inquest.store.accept import PostgresIntake
from inquest.store.claims import PostgresClaims
from inquest.store.database import Database
from inquest.telemetry import create_metrics

LEASE = timedelta(minutes=5)
"""No thread renews it here."""
WORKSPACE = "default"
_EFFECTS = """
select count(*) filter (where kind = 'model' and key like 'turn/%%') as turns,
  count(*) filter (where kind = 'query') as queries, count(*) as effects
from inquest.effect where investigation_id = %(id)s and state = 'committed'
"""


class Ran(Value):
    """One investigation: how long it took from its claim to its end, how long its door was open, what it did."""

    seconds: float
    cpu_s: float
    """Of this process, all its threads; not Postgres's."""
    door_s: float
    turns: int
    queries: int
    effects: int

    @property
    def ms_an_effect(self) -> float:
        """Give the time in the door for each effect."""
        return self.door_s / self.effects * 1000


class Bench:
    """One installation's database, for one event loop."""

    def __init__(self, database: Database, workspace: Workspace, key: InstallationKey) -> None:
        self._database = database
        self._workspace = dataclasses.replace(workspace, connectors=(InstantSource(),))
        self._key = key
        self._numbers = itertools.count(1)

    async def run(self, shape: Shape) -> Ran:
        """Take an alert in, claim its investigation and run it. Raises BenchBroken when it went otherwise than `shape`."""
        await self._take_in(new_post(next(self._numbers), rfc3339(datetime.now(UTC))))
        claiming = TimedClaiming(
            database=self._database,
            workspaces={WORKSPACE: self._workspace},
            key=self._key,
            metrics=create_metrics(),
            health={(WORKSPACE, InstantSource.name): "ok"},
            models={WORKSPACE: ScriptedModel(replies(shape, TOOL))},
        )
        began, used = time.perf_counter(), time.process_time()
        asked_at = time.monotonic()
        claimed = await PostgresClaims(self._database).claim(RandomIds().new(), lease=LEASE)
        if claimed is None:
            raise BenchBroken("there is nothing to claim")
        await claiming.run(claimed, LeaseGuard(claimed, asked_at=asked_at, lease=LEASE))
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - used
        found = await self._database.row(_EFFECTS, {"id": claimed.fence.investigation_id})
        counted = {} if found is None else dict(found._mapping)  # noqa: SLF001  # SQLAlchemy's public name
        return checked(Ran(seconds=seconds, cpu_s=cpu_s, door_s=covered(claiming.spans), **counted), shape)

    async def _take_in(self, body: bytes) -> None:
        (intake,) = self._workspace.intakes
        arrival = Arrival(intake=intake, post=parse(body), body=body, body_digest=digest_of(body))
        await accept(arrival, intake=PostgresIntake(self._database), ids=RandomIds())


def checked(ran: Ran, shape: Shape) -> Ran:
    """Give `ran`. Raises BenchBroken when it did not make the turns and calls of `shape`."""
    if (ran.turns, ran.queries) != (shape.turns, shape.queries):
        raise BenchBroken(
            f"{shape.turns} turns and {shape.queries} calls were scripted, {ran.turns} and {ran.queries} made"
        )
    return ran


@asynccontextmanager
async def bench(one: Installation) -> AsyncIterator[Bench]:
    """Open the database of `one` for the length of a `with`."""
    one.configure(model={"names": ["scripted"], "context_window_tokens": 200_000})
    key = load_or_make(one.home / "installation.key")
    workspaces = build_workspaces(read(one.configuration), key=key, clock=SystemClock(), base=one.folder)
    database = Database(one.url)
    try:
        yield Bench(database, workspaces[WORKSPACE], key)
    finally:
        await database.aclose()
