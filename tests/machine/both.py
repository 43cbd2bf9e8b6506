"""The store in memory and the one in Postgres as one place: every call is done by both, and both must answer alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from typing_extensions import override

from inquest.domain.event import GENESIS, EventBody, InterruptAnswered, InterruptExpired
from inquest.errors import InquestError
from inquest.ports import Chronicle
from inquest.store.actions import PostgresActions
from inquest.store.claims import PostgresClaims
from inquest.store.database import Database
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal
from inquest.store.lease import Claimed, ClaimLimits
from inquest.store.sweep import PostgresSweep
from tests.machine.calls import Call, Look, Place, outcome
from tests.machine.history import check
from tests.machine.memory import InMemory
from tests.store.builders import far, opening
from tests.store.test_same_answers import answer

_WAIT = """
update inquest.investigation set not_before = clock_timestamp() + make_interval(hours => %(hours)s)
where investigation_id = %(id)s and not_before is not null
"""


_SEVEN_DAYS = "update inquest.interrupt set expires_at = expires_at - interval '7 days'"


class OfOneWorkspace(PostgresClaims):
    """The claims of a database, as a worker sees them that serves one workspace of it."""

    def __init__(self, database: Database, workspace: str) -> None:
        super().__init__(database)
        self._workspace = workspace

    @override
    async def claim(self, owner_id: str, **options: Any) -> Claimed | None:
        return await super().claim(owner_id, **options, workspace=self._workspace)

    @override
    async def halt(self, workspace: str = "", *, actor: str = "") -> None:
        await super().halt(workspace or self._workspace, actor=actor)

    @override
    async def resume(self, workspace: str = "") -> None:
        await super().resume(workspace or self._workspace)


class InPostgres(Place):
    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self.investigations = PostgresInvestigations(database, workspace)
        self.journal = PostgresJournal(database, workspace)
        self.claims = OfOneWorkspace(database, workspace)
        self.actions = PostgresActions(database, workspace)

    @override
    async def come_due(self, name: str) -> None:
        await self.wait(name, hours=0)

    async def wait(self, name: str, *, hours: int) -> None:
        """Let a wait that began last so long: the database's clock goes on while a schedule is played."""
        await self._database.rows(_WAIT, {"id": name, "hours": hours})

    @override
    async def expire_questions(self) -> int:
        await self._database.rows(_SEVEN_DAYS, {})
        return await PostgresSweep(self._database, ClaimLimits()).expire_interrupts()

    @override
    async def look(self, name: str) -> Look:
        row = await self.investigations.get(name)
        return Look(row.status, row.spend, await self.journal.load(name))


class Both(Place):
    """`InMemory` for whoever looks, with everything done in Postgres as well."""

    def __init__(self, database: Database, workspace: str) -> None:
        self.here = InMemory(workspace=workspace)
        self.there = InPostgres(database, workspace)
        self.journal, self.claims, self.actions = self.here.journal, self.here.claims, self.here.actions
        self._waits: dict[str, datetime | None] = {}

    async def open(self, names: Sequence[str], episode_id: str) -> None:
        for rank, name in enumerate(names, start=1):
            asked = opening(name, severity_rank=rank, episode_id=episode_id)
            await self.here.memory.open(asked)
            await self.there.investigations.open(asked)
            self._waits[name] = None

    @override
    async def do(self, call: Call) -> object:
        here, there = await outcome(call, self.here), await outcome(call, self.there)
        check(await _told(here) == await _told(there), "both stores answer alike", call, here, there)
        for name, until in self._waits.items():
            waits = self.here.memory._find(name).not_before
            if waits != until and waits is not None and waits > self.here.memory._clock.now():
                await self.there.wait(name, hours=1)
            self._waits[name] = waits
        return here

    @override
    async def come_due(self, name: str) -> None:
        await self.here.come_due(name)
        await self.there.come_due(name)

    @override
    async def expire_questions(self) -> int:
        raise NotImplementedError  # each place is asked by itself

    @override
    async def look(self, name: str) -> Look:
        return await self.here.look(name)

    async def check_alike(self, name: str) -> None:
        """Compare everything that can be read, but the moments."""
        here, there = await self.here.look(name), await self.there.look(name)
        check((here.status, here.spend) == (there.status, there.spend), "both stores end alike", here, there)
        check(_still(here.chronicle) == _still(there.chronicle), "both stores record alike", here, there)


async def _told(found: object) -> object:
    """Give an answer in a form that both stores share."""
    return _still(found) if isinstance(found, Chronicle) else await answer(_again(found))


async def _again(found: object) -> object:
    if isinstance(found, InquestError):
        raise found
    return found


def _still(chronicle: Chronicle) -> Chronicle:
    """Take the moments out, and the digests that cover them: each store goes by its own clock."""
    same = {"committed_at": far(), "body_digest": GENESIS, "prev_digest": GENESIS}
    return chronicle.but(events=tuple(event.but(**same, body=_timeless(event.body)) for event in chronicle.events))


def _timeless(body: EventBody) -> EventBody:
    if isinstance(body, InterruptAnswered | InterruptExpired):
        return body.but(extended_until=far())
    return body
