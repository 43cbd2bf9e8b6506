"""What time alone changes, on Postgres: each method is one call of a function of `migrations/sql`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

from inquest.domain.budget import Spend
from inquest.domain.event import EVENT_SCHEMA_VERSION, InterruptExpired, RunCancelled, RunFailed
from inquest.domain.projection import NOTHING_REBUILT
from inquest.ports import Standing
from inquest.store.database import Database
from inquest.store.lease import ClaimLimits
from inquest.store.rules import EXPIRED_NOTE

MOST = 100
"""Rows that one pass changes of each kind; the next pass goes on."""
MOST_DEAD_JOBS = 1_000
DEAD_AFTER_S = 30
"""An engine's worker writes its heartbeat every 10 s; after this long without one, it is gone."""
EXPIRED = RunCancelled(reason="expired", actor="inquest")
"""What ends a deferred investigation whose episode ended over an hour ago."""
CONCLUSIONS_TRIED = 3
"""How often the end of one whose attempts are used up is tried, until it is set aside without a look at its journal."""
SET_ASIDE = RunFailed(
    reason="it was set aside: what it recorded cannot be gone on with",
    projection_digest=NOTHING_REBUILT,
    signature=None,
    spend=Spend(),
)
"""What ends an investigation that no worker can take further."""

_RING = "select inquest.ring_investigations(%(limits)s::jsonb, %(take_expired)s, %(most)s)"
_EXPIRE_DEFERRED = "select inquest.expire_deferred(%(body)s, %(schema_version)s, %(most)s)"
_ADMIT = "select inquest.admit_deferred(%(most)s)"
_SET_ASIDE = """
select inquest.set_aside_broken(%(take_expired)s, %(max_attempts)s, %(conclusions)s, %(body)s, %(note)s,
  %(schema_version)s, %(most)s)
"""
_UNANSWERED = """
select q.interrupt_id, clock_timestamp() + q.remaining as until
from inquest.interrupt q join inquest.investigation i using (investigation_id)
where q.answered_at is null and q.expires_at <= clock_timestamp() and i.status = 'waiting' limit %(most)s
"""
_EXPIRE_INTERRUPT = "select inquest.expire_interrupt(%(id)s, %(until)s, %(body)s, %(note)s, %(schema_version)s)"
_EPISODES = "select inquest.sweep_episodes(%(most)s)"
_TARGETS = "select inquest.ring_targets(%(most)s)"
_DEAD_JOBS = "select inquest.delete_dead_jobs(%(silence_s)s, %(most)s)"
_UNPURGED = """
select investigation_id from inquest.investigation
where status = 'deleting' and purged_at is null and inquest.can_purge() limit %(most)s
"""
_PURGE = "select inquest.purge_investigation(%(id)s)::int"
_STANDINGS = """
select workspace,
  count(*) filter (where status = 'running') as running,
  count(*) filter (where status = 'queued') as queued,
  coalesce(extract(epoch from clock_timestamp() - min(created_at) filter (where status = 'queued')), 0)::float8
    as oldest_queued_s
from inquest.investigation where status in ('running', 'queued') group by workspace
"""
_WATCHDOGS = """
select intake, bool_and(silent) as silent from (
  select intake, max(last_seen) <= clock_timestamp() - %(silence)s::interval as silent
  from inquest.alert where heartbeat and name = 'Watchdog' group by workspace, intake
) a group by intake
"""


class PostgresSweep:
    """`ports.Sweep` over all workspaces of one database. `limits` are those of the claims."""

    def __init__(self, database: Database, limits: ClaimLimits) -> None:
        self._database = database
        self._max_attempts = limits.max_attempts
        self._limits = json.dumps(limits.model_dump())

    async def ring_investigations(self, *, take_expired: bool) -> int:
        """Ring for queued ones that have room, most severe first, and for expired leases."""
        return await self._count(_RING, limits=self._limits, take_expired=take_expired, most=MOST)

    async def set_aside_broken(self, *, take_expired: bool) -> int:
        """End, failed, those whose journal lacks its end, and those whose conclusion failed too often."""
        return await self._count(
            _SET_ASIDE,
            take_expired=take_expired,
            max_attempts=self._max_attempts,
            conclusions=CONCLUSIONS_TRIED,
            body=SET_ASIDE.canonical(),
            note=SET_ASIDE.reason,
            schema_version=EVENT_SCHEMA_VERSION,
            most=MOST,
        )

    async def expire_deferred(self) -> int:
        """Cancel deferred ones whose episode ended over an hour ago."""
        body = EXPIRED.canonical()
        return await self._count(_EXPIRE_DEFERRED, body=body, schema_version=EVENT_SCHEMA_VERSION, most=MOST)

    async def admit_deferred(self) -> int:
        """Queue deferred ones that are due."""
        return await self._count(_ADMIT, most=MOST)

    async def expire_interrupts(self) -> int:
        """Go on without an answer where nobody answered in time, with the wall clock that was left."""
        expired = 0
        for row in await self._database.rows(_UNANSWERED, {"most": MOST}):
            body = InterruptExpired(interrupt_id=row.interrupt_id, extended_until=row.until)
            expired += await self._count(
                _EXPIRE_INTERRUPT,
                id=row.interrupt_id,
                until=row.until,
                body=body.canonical(),
                note=EXPIRED_NOTE,
                schema_version=EVENT_SCHEMA_VERSION,
            )
        return expired

    async def settle_episodes(self) -> int:
        """End quiet episodes, and count silent members as gone."""
        return await self._count(_EPISODES, most=MOST)

    async def ring_deliveries(self) -> int:
        """Ring for targets with something due."""
        return await self._count(_TARGETS, most=MOST)

    async def delete_dead_jobs(self) -> int:
        """Delete the engine's rows that nobody will finish."""
        return await self._count(_DEAD_JOBS, silence_s=DEAD_AFTER_S, most=MOST_DEAD_JOBS)

    async def purge_deleted(self) -> int:
        """Take away what is left under tombstones, once no message of it is under way."""
        tombstones = await self._database.rows(_UNPURGED, {"most": MOST})
        return sum([await self._count(_PURGE, id=row.investigation_id) for row in tombstones])

    async def standings(self) -> Sequence[Standing]:
        """Count what runs and waits, by workspace; one without either is left out."""
        rows = await self._database.rows(_STANDINGS, {})
        return tuple(Standing(**row._mapping) for row in rows)  # noqa: SLF001  # SQLAlchemy's public name

    async def silent_watchdogs(self, silence: timedelta) -> Mapping[str, bool]:
        """Say for each intake that ever sent a Watchdog whether none came for `silence`."""
        rows = await self._database.rows(_WATCHDOGS, {"silence": silence})
        return {row.intake: row.silent for row in rows}

    async def _count(self, statement: str, **parameters: object) -> int:
        changed: int = await self._database.value(statement, parameters)
        return changed
