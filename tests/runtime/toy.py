"""A toy investigation over the real journal, and a destination that outlives its senders: for worker tests.

The world is two tables of the test's own database: `toy_call` has a row for every act outside, `toy_message`
one for every message that arrived. Neither is ours to change when a process dies.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import psycopg

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.delivery import Address, DeliveryClaimed, DeliveryFailed, RevisionKind, Sent
from inquest.domain.effect import EffectKind, Receipt, Reservation
from inquest.domain.event import RunFailed, RunStarted, TurnCommitted
from inquest.domain.report import Report
from inquest.errors import FenceLost
from inquest.ports import Claimed, Fresh, Known, Revision, Write
from inquest.runtime.clock import RandomIds
from inquest.runtime.delivery import Built, DeliveryOptions, DeliveryRunner
from inquest.runtime.lease import LeaseGuard
from inquest.runtime.worker import Act, Worker, WorkerOptions, WorkerParts
from inquest.store.claims import PostgresClaims
from inquest.store.database import Database
from inquest.store.deliveries import PostgresDeliveries
from inquest.store.journal import PostgresJournal
from inquest.store.lease import ClaimLimits
from inquest.store.lease_line import connect
from inquest.store.queue import ProcrastinateEngine
from inquest.store.sweep import PostgresSweep
from inquest.telemetry import create_metrics
from tests.store.builders import episode, plan_committed, run_started, succeeded
from tests.waiting import until

WORLD = """
create table if not exists public.toy_call (id serial, investigation text, turn int, owner text);
create table if not exists public.toy_message (id serial, marker text, reference text, body text);
create table if not exists public.toy_pause (point text primary key);
create table if not exists public.toy_reached (point text, owner text);
create table if not exists public.toy_worker (owner text primary key, pid int);
"""


async def _ask(conninfo: str, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        found = await connection.execute(statement, parameters)
        return await found.fetchall() if found.description is not None else []


class World:
    """What is outside: acts are written down, and a point that the test has paused is waited at."""

    def __init__(self, conninfo: str, owner: str = "") -> None:
        self.conninfo = conninfo
        self.owner = owner

    async def make(self) -> None:
        await _ask(self.conninfo, WORLD)

    async def call(self, investigation_id: str, turn: int) -> None:
        await _ask(
            self.conninfo, "insert into public.toy_call (investigation, turn, owner) values (%s, %s, %s)",
            investigation_id, turn, self.owner,
        )  # fmt: skip

    async def enlist(self, pid: int) -> None:
        """Say which process this owner is."""
        await _ask(self.conninfo, "insert into public.toy_worker values (%s, %s)", self.owner, pid)

    async def reach(self, point: str) -> None:
        """Say that `point` is reached, and go on when nothing pauses it."""
        if not await self._paused(point):
            return
        await _ask(self.conninfo, "insert into public.toy_reached values (%s, %s)", point, self.owner)
        await until(lambda: self._resumed(point), patience_s=120.0)

    async def _resumed(self, point: str) -> bool:
        try:
            return not await self._paused(point)
        except psycopg.OperationalError:
            return False  # the database restarts; the world waits

    async def _paused(self, point: str) -> bool:
        return bool(await _ask(self.conninfo, "select 1 from public.toy_pause where point = %s", point))

    # ---- for the test

    async def pause(self, point: str) -> None:
        await _ask(self.conninfo, "insert into public.toy_pause values (%s)", point)

    async def resume(self, point: str) -> None:
        await _ask(self.conninfo, "delete from public.toy_pause where point = %s", point)

    async def reached(self, point: str) -> list[str]:
        """Give the owners that reached `point` while it was paused, in order."""
        found = await _ask(self.conninfo, "select owner from public.toy_reached where point = %s", point)
        return [row[0] for row in found]

    async def pid_of(self, owner: str) -> int:
        """Give the process of an owner."""
        ((pid,),) = await _ask(self.conninfo, "select pid from public.toy_worker where owner = %s", owner)
        return int(pid)

    async def calls(self) -> list[tuple[str, int]]:
        return [
            (row[0], row[1])
            for row in await _ask(self.conninfo, "select investigation, turn from public.toy_call order by id")
        ]

    async def messages(self) -> list[tuple[str, str]]:
        """Give (reference, body) of every message, in the order of their first arrival."""
        found = await _ask(self.conninfo, "select reference, body from public.toy_message order by id")
        return [(row[0], row[1]) for row in found]


class ToyPipeline:
    """`turns` model turns, each reserved, called and committed with its receipt; then the report.

    Points: `begin` before anything is recorded, `call/N` before the call of turn N, `commit/N` before its commit.
    """

    def __init__(self, journal: PostgresJournal, world: World, *, turns: int = 3) -> None:
        self._journal = journal
        self._world = world
        self._turns = turns

    async def run(self, claimed: Claimed, guard: LeaseGuard) -> None:
        fence, name = claimed.fence, claimed.fence.investigation_id
        chronicle = await self._journal.load(name)
        version = chronicle.version
        await self._world.reach("begin")
        if not any(isinstance(event.body, RunStarted) for event in chronicle.events):
            begun = (run_started(claimed.identity, episode=episode()), plan_committed())
            version = await self._journal.commit(Write(fence=fence, expected_version=version, events=begun))
        done = [event.body.turn for event in chronicle.events if isinstance(event.body, TurnCommitted)]
        for turn in range(len(done) + 1, self._turns + 1):
            version = await self._turn(claimed, guard, version, turn)
        await self._journal.commit(
            Write(
                fence=fence,
                expected_version=version,
                events=(succeeded(),),
                revisions=(Revision(kind=RevisionKind.REPORT),),
            )
        )

    async def _turn(self, claimed: Claimed, guard: LeaseGuard, version: int, turn: int) -> int:
        fence, name = claimed.fence, claimed.fence.investigation_id
        reservation = Reservation(key=f"turn/{turn}", kind=EffectKind.MODEL, fingerprint=digest_of(b"ask"))
        answer = await self._journal.reserve(fence, version, reservation)
        reply = f"reply {turn}".encode()
        if not isinstance(answer, Known):
            await self._world.reach(f"call/{turn}")
            if not guard.may_act():
                raise FenceLost("nothing may be sent any more")
            await self._world.call(name, turn)
        await self._world.reach(f"commit/{turn}")
        body = TurnCommitted(
            turn=turn,
            key=reservation.key,
            request_digest=digest_of(b"ask"),
            reply=digest_of(reply),
            calls=(),
            offered=(),
        )
        receipt = Receipt(key=reservation.key, fingerprint=reservation.fingerprint, outcome_digest=digest_of(reply))
        receipts = () if isinstance(answer, Known) else (receipt,)
        assert isinstance(answer, Fresh) or answer.answer in ("again", "known")
        return await self._journal.commit(
            Write(
                fence=fence,
                expected_version=version,
                events=(body,),
                receipts=receipts,
                contents={digest_of(reply): reply},
            )
        )


async def conclude_failed(journal: PostgresJournal, claimed: Claimed) -> None:
    failed = RunFailed(reason="attempts", projection_digest=digest_of(b"p"), signature=None, spend=Spend())
    events = (failed,) if claimed.version else (run_started(claimed.identity), failed)
    await journal.commit(Write(fence=claimed.fence, expected_version=claimed.version, events=events))


class ToyDestination:
    """A destination that keeps its messages in the world, and its promises: an edit needs a known reference.

    Points: `before_send` and `after_send`, on both sides of the arrival; `find`.
    """

    type = "toy"

    def __init__(self, world: World, name: str = "toy") -> None:
        self.name = name
        self._world = world

    def render(self, report: Report, contents: Mapping[str, bytes], *, guest: bool) -> bytes:
        return f"{report.investigation_id} {report.kind} r{report.revision}".encode()

    async def send(self, rendered: bytes, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        await self._world.reach("before_send")
        marker, reference = address.marker, address.reference
        known = reference if reference is not None else RandomIds().new()
        if reference is None:
            await self._ask("insert into public.toy_message (marker, reference, body) values (%s, %s, %s)",
                            marker, known, rendered.decode())  # fmt: skip
        elif not await self._ask("update public.toy_message set body = %s where reference = %s returning 1",
                                 rendered.decode(), reference):  # fmt: skip
            return DeliveryFailed(reason="there is no such message", retry=False)
        await self._world.reach("after_send")
        return Sent(reference=known)

    async def find(self, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed | None:
        await self._world.reach("find")
        found = await self._ask("select reference from public.toy_message where marker = %s", address.marker)
        return Sent(reference=found[0][0]) if found else None

    async def _ask(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        return await _ask(self._world.conninfo, statement, *parameters)


async def build(claimed: DeliveryClaimed) -> Built:
    report = Report(
        investigation_id=claimed.investigation_id,
        workspace=claimed.workspace,
        revision=claimed.revision,
        kind=claimed.kind.value,
        title="t",
        service="s",
        severity="critical",
        episode=episode(),
        episode_state="firing",
    )
    return Built(report=report, contents={})


def make_worker(
    database: Database,
    run: Act,
    world: World,
    *,
    lease: timedelta,
    concurrency: int = 4,
    grace_s: float = 5.0,
    limits: ClaimLimits | None = None,
    send_for: timedelta = timedelta(seconds=2),
    workspace: str = "acme",
) -> Worker:
    """Wire a worker as `bootstrap` does, over a toy pipeline and a toy destination called "toy"."""
    limits = limits or ClaimLimits()
    journal, sweep = PostgresJournal(database, workspace), PostgresSweep(database, limits)
    metrics = create_metrics()

    async def conclude(claimed: Claimed, _guard: LeaseGuard) -> None:
        await conclude_failed(journal, claimed)

    deliveries = DeliveryRunner(
        PostgresDeliveries(database),
        {(workspace, "toy"): ToyDestination(world)},
        build,
        metrics=metrics,
        ids=RandomIds(),
        options=DeliveryOptions(claim_lease=lease, send_for=send_for, find_for_s=5.0),
    )
    parts = WorkerParts(
        claims=PostgresClaims(database, limits),
        engine=ProcrastinateEngine(database.url, upkeep=sweep.delete_dead_jobs),
        connect_lease=lambda: connect(database.url, lease),
        sweep=sweep,
        deliveries=deliveries,
        run_investigation=run,
        conclude_failed=conclude,
        metrics=metrics,
        ids=RandomIds(),
    )
    worker = Worker(WorkerOptions(concurrency=concurrency, lease=lease, drain_grace_s=grace_s), parts)
    world.owner = worker.owner_id
    return worker
