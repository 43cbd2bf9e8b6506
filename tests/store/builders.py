"""Small values for tests of the store, and the Postgres store of one test."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, Protocol, TypeVar

import psycopg
from psycopg.rows import dict_row
from typing_extensions import override

from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.budget import MAX_ATTEMPTS, Limits, PlanBudget, Spend
from inquest.domain.canonical import digest_of
from inquest.domain.effect import EffectKind, Receipt, Reservation
from inquest.domain.episode import Episode, Member
from inquest.domain.event import (
    EventBody,
    InterruptRaised,
    LoopSteered,
    Nudge,
    PlanCommitted,
    RunFailed,
    RunStarted,
    RunSucceeded,
    TurnCommitted,
)
from inquest.domain.fence import Fence
from inquest.domain.investigation import Identity, Origin, Plan, Status
from inquest.ports import Effects, Journal, Write
from inquest.store.actions import PostgresActions
from inquest.store.claims import PostgresClaims
from inquest.store.content import PostgresContent
from inquest.store.database import Database
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal
from inquest.store.lease import EVENT_VERSIONS, LEASE, WORKFLOW_VERSIONS, Claimed, ClaimLimits, Opening
from inquest.store.memory import MemoryJournal
from inquest.store.rules import INTERRUPT_LIFE, OPERATOR
from inquest.store.sweep import PostgresSweep

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORKSPACE = "acme"
EPISODE = "episode-1"
PATIENCE_S = 10.0
T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T | None]]) -> T:
    """Look again and again until there is something to see."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            seen = await look()
            if seen is not None:
                return seen
            await asyncio.sleep(0.01)


async def at_once(*acts: Coroutine[Any, Any, object]) -> list[Any]:
    """Start `acts` together, none before all are there, and give what each came to."""
    barrier = asyncio.Barrier(len(acts))

    async def one(act: Coroutine[Any, Any, object]) -> object:
        await barrier.wait()
        return await act

    return await asyncio.gather(*(one(act) for act in acts), return_exceptions=True)


class StillClock:
    """A clock that moves only when told; it starts now, as the database's does."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC)

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()


class Acting(Journal, Effects, Protocol):
    """What both stores' journals are."""


class Claiming(Protocol):
    """What both stores' claims are."""

    async def claim(
        self,
        owner_id: str,
        *,
        lease: timedelta = LEASE,
        workflow_versions: Sequence[str] = WORKFLOW_VERSIONS,
        event_versions: Sequence[int] = EVENT_VERSIONS,
        limits: ClaimLimits | None = None,
        take_expired: bool = True,
    ) -> Claimed | None: ...

    async def renew(self, fence: Fence, *, lease: timedelta = LEASE) -> datetime: ...

    async def release(self, fence: Fence) -> None: ...

    async def release_unanswered(self, fence: Fence, *, max_attempts: int = MAX_ATTEMPTS) -> None: ...

    async def fail_attempt(self, fence: Fence, *, max_attempts: int = MAX_ATTEMPTS) -> datetime: ...

    async def expire(self, investigation_id: str) -> bool: ...

    async def halt(self) -> None: ...

    async def resume(self) -> None: ...


class Either(ABC):
    """A store with one workspace and one episode, in memory or in Postgres: what a contract test acts on."""

    journal: Acting
    claims: Claiming

    @abstractmethod
    async def open(self, asked: Opening) -> None: ...

    @abstractmethod
    async def status(self, name: str = "inv-1") -> Status: ...

    @abstractmethod
    async def revisions(self, name: str = "inv-1") -> list[str]: ...

    @abstractmethod
    async def come_due(self, name: str = "inv-1") -> None:
        """Let the time of `not_before` come."""

    @abstractmethod
    async def answer(self, interrupt_id: str, text: str = "alice", name: str = "inv-1") -> None: ...

    @abstractmethod
    async def pass_a_week(self) -> int:
        """Let the life of every question pass, and sweep once; gives how many expired."""

    async def opened(self, name: str = "inv-1", **changes: object) -> None:
        await self.open(opening(name, **changes))

    async def claimed(self, owner_id: str = "owner-1", **options: Any) -> Claimed:  # noqa: ANN401  # those of claim
        found = await self.claims.claim(owner_id, **options)
        assert found is not None
        return found

    async def taken_over(self, owner_id: str, name: str = "inv-1") -> Fence:
        """Let the owner die, having got somewhere or not, and claim again."""
        await self.claims.expire(name)
        claim = await self.claims.claim(owner_id)
        if claim is None:  # it had got nowhere, and waits
            await self.come_due(name)
            claim = await self.claims.claim(owner_id)
        assert claim is not None
        return claim.fence

    async def started(self, name: str = "inv-1", **plan: Any) -> Fence:  # noqa: ANN401  # those of plan_committed
        """Open, claim and start one investigation, with a plan: version 2."""
        await self.opened(name)
        claim = await self.claimed()
        events = (run_started(claim.identity), plan_committed(**plan))
        await self.journal.commit(Write(fence=claim.fence, expected_version=0, events=events))
        return claim.fence


class InMemory(Either):
    def __init__(self) -> None:
        self.clock = StillClock()
        self.memory = MemoryJournal(WORKSPACE, self.clock)
        self.journal = self.memory
        self.claims = self.memory

    @override
    async def open(self, asked: Opening) -> None:
        await self.memory.open(asked)

    @override
    async def status(self, name: str = "inv-1") -> Status:
        return self.memory.status(name)

    @override
    async def revisions(self, name: str = "inv-1") -> list[str]:
        return [revision.kind for revision in self.memory.revisions(name)]

    @override
    async def come_due(self, name: str = "inv-1") -> None:
        self.memory._find(name).not_before = self.clock.now()

    @override
    async def answer(self, interrupt_id: str, text: str = "alice", name: str = "inv-1") -> None:
        await self.memory.answer(name, interrupt_id, text, actor=OPERATOR)

    @override
    async def pass_a_week(self) -> int:
        self.clock.moment += INTERRUPT_LIFE
        return await self.memory.expire_interrupts()


class Store(Either):
    """Everything of the Postgres store over one database, and a plain connection that looks past it."""

    def __init__(self, url: str, conninfo: str, workspace: str = WORKSPACE, *, pool_size: int = 6) -> None:
        self.database = Database(url, pool_size=pool_size)
        self.journal: PostgresJournal = PostgresJournal(self.database, workspace)
        self.claims: PostgresClaims = PostgresClaims(self.database)
        self.investigations = PostgresInvestigations(self.database, workspace)
        self.content = PostgresContent(self.database, workspace)
        self.conninfo = conninfo

    def look(self, statement: LiteralString, *parameters: object) -> list[dict[str, Any]]:
        """Run a statement past the store, as an operator with psql would."""
        with self.connection() as connection:
            found = connection.execute(statement, parameters)
            return found.fetchall() if found.description is not None else []

    def connection(self) -> psycopg.Connection[dict[str, Any]]:
        return psycopg.connect(self.conninfo, autocommit=True, options="-csearch_path=inquest", row_factory=dict_row)

    def add_episode(self, episode_id: str = EPISODE, workspace: str = WORKSPACE) -> None:
        """Put an episode there as the accept transaction would."""
        self.look("insert into alert_group (workspace, group_key) values (%s, %s)", workspace, episode_id)
        self.look(
            "insert into episode (episode_id, workspace, group_key, intake, source, severity_rank, quiet_for,"
            " stale_after, next_stale_at) values (%s, %s, %s, 'am', 'alertmanager', 4, '15 min', '5 h', now())",
            episode_id,
            workspace,
            episode_id,
        )

    def add_target(self, name: str = "inv-1", destination: str = "folder", workspace: str = WORKSPACE) -> None:
        self.look(
            "insert into delivery_target (target_id, investigation_id, workspace, destination) values (%s, %s, %s, %s)",
            f"{name}-{destination}",
            name,
            workspace,
            destination,
        )

    @override
    async def open(self, asked: Opening) -> None:
        await self.investigations.open(asked)

    @override
    async def status(self, name: str = "inv-1") -> Status:
        return (await self.investigations.get(name)).status

    @override
    async def revisions(self, name: str = "inv-1") -> list[str]:
        found = self.look(
            "select kind from delivery join delivery_target using (target_id) where investigation_id = %s"
            " order by target_id, revision",
            name,
        )
        return [row["kind"] for row in found]

    @override
    async def come_due(self, name: str = "inv-1") -> None:
        self.look("update investigation set not_before = clock_timestamp() where investigation_id = %s", name)

    @override
    async def answer(self, interrupt_id: str, text: str = "alice", name: str = "inv-1") -> None:
        await PostgresActions(self.database, WORKSPACE).answer(name, interrupt_id, text)

    @override
    async def pass_a_week(self) -> int:
        self.look("update interrupt set expires_at = expires_at - interval '7 days'")
        return await PostgresSweep(self.database, ClaimLimits()).expire_interrupts()


def silence(store: Store) -> None:
    """Take every bell away, as if they had been lost long ago."""
    store.look("delete from procrastinate.procrastinate_jobs")
    store.look("update investigation set rung_at = null")
    store.look("update delivery_target set rung_at = null")


def bells(store: Store, queue: str = "investigations") -> list[str]:
    rows = store.look("select args from procrastinate.procrastinate_jobs where queue_name = %s order by id", queue)
    return [row["args"]["id"] for row in rows]


def opening(name: str = "inv-1", **changes: object) -> Opening:
    return Opening(investigation_id=name, episode_id=EPISODE, session_id="post-1").but(**changes)


def identity(name: str = "inv-1", workspace: str = WORKSPACE) -> Identity:
    return Identity(workspace_id=workspace, task_id=EPISODE, run_id=name, session_id="post-1")


def episode() -> Episode:
    alert = Alert(fingerprint="f1", name="CheckoutErrors", status=AlertStatus.FIRING)
    member = Member(alert_id="a1", alert=alert, occurrences=1, first_seen=NOON, last_seen=NOON)
    return Episode(
        episode_id=EPISODE, group_key="g", intake="am", source="alertmanager", opened_at=NOON, members=(member,)
    )


def far() -> datetime:
    return datetime(2100, 1, 1, tzinfo=UTC)


def run_started(who: Identity | None = None, **changes: object) -> RunStarted:
    return RunStarted(
        identity=who or identity(),
        origin=Origin(intake="am", source="alertmanager"),
        episode=episode(),
        models=("analyst",),
        prompts={},
        limits=Limits(),
        started_at=NOON,
        deadline_at=far(),
        release="0.1.0",
    ).but(**changes)


def plan_committed(turns: int = 20, effects: int = 60, deadline_at: datetime | None = None) -> PlanCommitted:
    budget = PlanBudget(max_model_turns=turns, max_connector_effects=effects, deadline_at=deadline_at or far())
    return PlanCommitted(plan=Plan(objective="why", hypotheses=(), tools=(), seeds=(), budget=budget))


def nudge(turn: int = 1) -> LoopSteered:
    return LoopSteered(steering=Nudge(turn=turn, why="stagnant", text="look elsewhere"))


def turn_committed(turn: int, reply: bytes) -> TurnCommitted:
    return TurnCommitted(
        turn=turn,
        key=f"turn/{turn}",
        request_digest=digest_of(b"request"),
        reply=digest_of(reply),
        calls=(),
        offered=(),
    )


def succeeded() -> RunSucceeded:
    return RunSucceeded(stop_reason="concluded", projection_digest=digest_of(b"p"), signature=None, spend=Spend())


def failed() -> RunFailed:
    return RunFailed(reason="attempts", projection_digest=digest_of(b"p"), signature=None, spend=Spend())


def interrupt_raised(name: str = "int-1") -> InterruptRaised:
    return InterruptRaised(interrupt_id=name, prompt="who deployed?", call_key="turn/1/call/1", remaining_s=300.0)


def query(key: str, asked: bytes = b"up") -> Reservation:
    return Reservation(key=key, kind=EffectKind.QUERY, fingerprint=digest_of(asked))


def model(key: str, asked: bytes = b"prompt") -> Reservation:
    return Reservation(key=key, kind=EffectKind.MODEL, fingerprint=digest_of(asked))


def receipt(reservation: Reservation, outcome: bytes = b"{}") -> Receipt:
    return Receipt(key=reservation.key, fingerprint=reservation.fingerprint, outcome_digest=digest_of(outcome))


def contents(*stored: bytes) -> dict[str, bytes]:
    return {digest_of(one): one for one in stored}


def write(fence: Fence, expected_version: int, *events: EventBody, **changes: object) -> Write:
    return Write(fence=fence, expected_version=expected_version, events=events).but(**changes)
