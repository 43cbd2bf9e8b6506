"""Who may act: claims and leases on Postgres. The rules are the SQL functions of `migrations/sql/0004_queue.sql`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from psycopg import Connection, OperationalError
from sqlalchemy import Row

from inquest.domain.event import EVENT_SCHEMA_VERSION
from inquest.domain.fence import Fence
from inquest.domain.investigation import Identity
from inquest.errors import StoreUnavailable
from inquest.ports import Renewal
from inquest.store.database import Database
from inquest.store.halts import EVERYTHING, PostgresHalts
from inquest.store.lease import EVENT_VERSIONS, FREE_STALLS, LEASE, WORKFLOW_VERSIONS, Claimed, ClaimLimits
from inquest.store.rules import check_text

MAX_WORKSPACES_TRIED = 64
"""One claim looks so often for a workspace; the next bell looks again."""

_CLAIM = "select * from inquest.claim(%(owner)s, %(p)s::jsonb)"
_RENEW = "select inquest.renew_lease(%(id)s, %(owner)s, %(generation)s, %(attempt)s, %(lease_ms)s)"
_RENEW_ALL = """
select investigation_id, generation, answer from inquest.renew_leases(%(ids)s::text[], %(owners)s::text[], %(generations)s::int[],
  %(attempts)s::int[], %(lease_ms)s)
"""
_LET_GO = """
select inquest.let_go(%(id)s, %(owner)s, %(generation)s, %(attempt)s, %(why)s, %(max_attempts)s, %(free_stalls)s)
"""
_EXPIRE = """
update inquest.investigation set lease_expires_at = clock_timestamp()
where investigation_id = %(id)s and status = 'running' returning 1
"""


class PostgresClaims:
    """Claims over all workspaces of one database. Leases go by the database's clock only.

    `limits` hold for every call that names none.
    """

    def __init__(self, database: Database, limits: ClaimLimits | None = None) -> None:
        self._database = database
        self._limits = limits or ClaimLimits()

    async def claim(
        self,
        owner_id: str,
        *,
        lease: timedelta = LEASE,
        workflow_versions: Sequence[str] = WORKFLOW_VERSIONS,
        event_versions: Sequence[int] = EVENT_VERSIONS,
        limits: ClaimLimits | None = None,
        take_expired: bool = True,
        workspace: str | None = None,
    ) -> Claimed | None:
        """Take the most severe, then oldest, investigation that may run now, whichever id a bell named.

        Of the workspaces with something to run, the one with the fewest running goes first; `workspace`
        restricts it to one. Under that workspace's lock: `running` ones are counted (waiting ones are not); a
        queued one whose `not_before` has come is taken while there is room; one whose lease has expired is
        taken without room, since it counts already. One whose owner died before it appended anything is
        queued again after a wait instead, and charged by the claim after it. Only workflow and event
        versions that are named are touched. A halted workspace gives nothing.

        `take_expired=False` leaves expired leases alone: for one lease length after the database was away,
        when their owners had no way to renew them. `owner_id` is unique per process boot.
        Gives None when nothing may run; the worker waits for the next bell. Raises StoreUnavailable.
        """
        check_text("owner_id", owner_id)
        asked = {
            "lease_ms": lease // timedelta(milliseconds=1),
            "workflows": list(workflow_versions),
            "event_versions": list(event_versions),
            "limits": (limits or self._limits).model_dump(),
            "take_expired": take_expired,
            "only": workspace,
            "schema_version": EVENT_SCHEMA_VERSION,
        }
        skip: list[str] = []
        for _ in range(MAX_WORKSPACES_TRIED):
            parameters = {"owner": owner_id, "p": json.dumps({**asked, "skip": skip})}
            found = await self._database.row(_CLAIM, parameters)
            if found is None:
                return None
            if found.investigation_id is not None:
                return _claimed(found, owner_id)
            if not found.moved:
                skip.append(found.workspace)
        return None

    async def renew(self, fence: Fence, *, lease: timedelta = LEASE) -> datetime:
        """Lengthen the lease, an expired one that nobody took too; gives its new end. Raises FenceLost."""
        renewed: datetime = await self._database.value(_RENEW, _renewal(fence, lease))
        return renewed

    async def release(self, fence: Fence) -> None:
        """Let go without a charge (a drain): queued again, and its bell rings.

        The dispatches of what this owner reserved and has no outcome are taken back: they were cut.
        Raises FenceLost, NotFound.
        """
        await self._let_go(fence, "drain")

    async def release_unanswered(self, fence: Fence, *, max_attempts: int | None = None) -> None:
        """Let go because the database did not answer, which may have been a restart: queued again without a charge.

        From the second time in a row after a wait. When that happened more than FREE_STALLS times and the owner
        appended nothing, it is charged like a stage error. Dispatches stay counted: what was sent may have arrived.
        Raises FenceLost, NotFound.
        """
        await self._let_go(fence, "unanswered", max_attempts)

    async def fail_attempt(self, fence: Fence, *, max_attempts: int | None = None) -> datetime:
        """End the attempt by a stage error: queued again after a wait, whose end it gives; the next claim charges it.

        `max_attempts` is the one of the claims. Raises FenceLost, NotFound.
        """
        not_before: datetime = await self._let_go(fence, "stage_error", max_attempts)
        return not_before

    async def _let_go(
        self, fence: Fence, why: Literal["drain", "stage_error", "unanswered"], max_attempts: int | None = None
    ) -> Any:  # noqa: ANN401  # a moment or None
        allowed = self._limits.max_attempts if max_attempts is None else max_attempts
        parameters = {**_named(fence), "why": why, "max_attempts": allowed, "free_stalls": FREE_STALLS}
        return await self._database.value(_LET_GO, parameters)

    async def expire(self, investigation_id: str) -> bool:
        """End the lease as if its time had run out, whoever holds it; False when nobody does.

        For an operator who knows that the owner is gone. The owner may renew it, if it lives.
        """
        return await self._database.row(_EXPIRE, {"id": investigation_id}) is not None

    async def halt(self, workspace: str = EVERYTHING, *, actor: str = "") -> None:
        """Halt `workspace` (`PostgresHalts.halt`)."""
        await PostgresHalts(self._database).halt(workspace, actor=actor)

    async def resume(self, workspace: str = EVERYTHING) -> None:
        """End a halt of the same name (`PostgresHalts.resume`)."""
        await PostgresHalts(self._database).resume(workspace)


def renew_now(
    connection: Connection[Any], fences: Sequence[Fence], *, lease: timedelta = LEASE
) -> Mapping[Fence, Renewal]:
    """Renew over a connection of the caller's own, without an event loop: for the lease's thread.

    Waits for no row. Gives the answer for each fence. The connection is in autocommit. Raises
    StoreUnavailable.
    """
    asked = {
        "ids": [fence.investigation_id for fence in fences],
        "owners": [fence.owner_id for fence in fences],
        "generations": [fence.generation for fence in fences],
        "attempts": [fence.attempt for fence in fences],
        "lease_ms": lease // timedelta(milliseconds=1),
    }
    try:
        found = connection.execute(_RENEW_ALL, asked).fetchall()
    except OperationalError as error:
        raise StoreUnavailable("the database does not answer a renewal") from error
    answers = {(name, generation): Renewal(answer) for name, generation, answer in found}
    return {fence: answers[fence.investigation_id, fence.generation] for fence in fences}


def _named(fence: Fence) -> dict[str, object]:
    return {
        "id": fence.investigation_id,
        "owner": fence.owner_id,
        "generation": fence.generation,
        "attempt": fence.attempt,
    }


def _renewal(fence: Fence, lease: timedelta) -> dict[str, object]:
    return {**_named(fence), "lease_ms": lease // timedelta(milliseconds=1)}


def _claimed(row: Row[Any], owner_id: str) -> Claimed:
    fence = Fence(
        investigation_id=row.investigation_id,
        owner_id=owner_id,
        generation=row.generation,
        attempt=row.attempt,
    )
    identity = Identity(
        workspace_id=row.workspace,
        task_id=row.episode_id,
        run_id=row.investigation_id,
        session_id=row.session_id,
        workflow_id=row.workflow,
    )
    return Claimed(
        fence=fence,
        identity=identity,
        version=row.version,
        exhausted=row.exhausted,
        started_at=row.started_at,
        now=row.now,
        lease_expires_at=row.lease_expires_at,
    )
