"""Reading what the intake wrote: episodes with their members, what changed in them, and the lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row

from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.episode import Episode, Member
from inquest.domain.intake import Changes, MemberOutcome, ReceiptState
from inquest.domain.receipt import AlertRow, Receipt, Standing
from inquest.errors import NotFound
from inquest.store.database import Database

MAX_LISTED_MEMBERS = 200
MAX_LISTED_BYTES = 524_288
"""Members of an episode that are read, the opening ones first: half of what one batch of events may hold."""
MAX_LISTED_CHANGES = 2_000
"""Members that stopped, and as many that fire again, whose ids one look at the changes of an episode gives."""
CLOCKS_APART = timedelta(hours=1)
"""How far the clock of a service that takes posts in may be behind the database's, when its receipts are looked for."""
MAX_PAGE = 200
"""Rows of one page of a list."""

_EPISODE = """
select e.*, clock_timestamp() as read_at, (
    select p.investigation_id from inquest.investigation p
    where p.episode_id = e.previous_episode_id and p.parent_id is null order by p.created_at limit 1
  ) as previous_investigation_id
from inquest.investigation i join inquest.episode e using (episode_id) where i.investigation_id = %(id)s
"""
_MEMBERS = """
select * from (
  select a.*, row_number() over w as place, sum(octet_length(a.body)) over w as bytes, count(*) over () as found
  from inquest.alert a where a.episode_id = %(episode_id)s and a.joined_version > %(since)s
  window w as (order by a.joined_version, a.severity_rank desc, a.first_seen, a.fingerprint, a.starts_at)
) m where place = 1 or place <= %(most)s and bytes <= %(most_bytes)s order by place
"""
_CHANGED = """
with changed as (
  select a.alert_id, a.status, row_number() over w as place
  from inquest.alert a
  where a.episode_id = %(episode_id)s and a.changed_version > %(since)s
    and (a.status = 'resolved' or a.joined_version <= %(since)s)
  window w as (
    partition by a.status order by a.joined_version, a.severity_rank desc, a.first_seen, a.fingerprint, a.starts_at)
)
select e.version,
  array(select c.alert_id from changed c where c.status = 'resolved' and c.place <= %(most)s order by c.place)
    as resolved,
  array(select c.alert_id from changed c where c.status = 'firing' and c.place <= %(most)s order by c.place)
    as fired_again,
  (select count(*) from changed c where c.status = 'resolved' and c.place > %(most)s) as unlisted_resolved,
  (select count(*) from changed c where c.status = 'firing' and c.place > %(most)s) as unlisted_fired_again
from inquest.episode e where e.episode_id = %(episode_id)s
"""
_STANDING = """
select e.episode_id, e.version, e.quiet_since is null and e.ended_at is null as firing, e.quiet_since, e.ended_at, (
    select i.investigation_id from inquest.episode n join inquest.investigation i on i.episode_id = n.episode_id
    where n.workspace = e.workspace and n.group_key = e.group_key and n.previous_episode_id = e.episode_id
      and i.parent_id is null
    order by i.created_at limit 1) as next_investigation_id
from inquest.episode e where e.episode_id = %(episode_id)s
"""
_RECEIPTS = """
select r.* from inquest.intake_receipt r
where r.workspace = %(workspace)s and (%(state)s::text is null or r.state = %(state)s)
  and (%(before)s::text is null or (r.received_at, r.receipt_id) < (
    select b.received_at, b.receipt_id from inquest.intake_receipt b where b.receipt_id = %(before)s))
order by r.received_at desc, r.receipt_id desc limit %(most)s
"""
_RECEIPTS_OF = """
select r.* from inquest.intake_receipt r
where r.workspace = %(workspace)s and r.intake = %(intake)s and r.received_at >= %(since)s
  and %(id)s = any (r.investigation_ids)
order by r.received_at desc, r.receipt_id desc limit %(most)s
"""
_HEARTBEATS = """
select a.* from inquest.alert a where a.workspace = %(workspace)s and a.heartbeat
order by a.name, a.last_seen desc, a.alert_id limit %(most)s
"""
_FIRING = """
select a.* from inquest.alert a where a.workspace = %(workspace)s and a.fires and not a.heartbeat
order by a.severity_rank desc, a.first_seen, a.alert_id limit %(most)s
"""
_BODY = "select body from inquest.receipt_body where workspace = %(workspace)s and digest = %(digest)s"


class PostgresAlerts:
    """Episodes, alerts and receipts in Postgres, read only. Every method may raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def episode_for(self, investigation_id: str) -> Episode:
        """Give the episode of an investigation as it stands, members in the order they joined.

        At most MAX_LISTED_MEMBERS and MAX_LISTED_BYTES of them are listed (always one), the rest counted.
        Raises NotFound.
        """
        row = await self._database.row(_EPISODE, {"id": investigation_id})
        if row is None:
            raise NotFound(f"investigation {investigation_id}")
        members, unlisted = await self._members(row.episode_id, since=0)
        return Episode(
            episode_id=row.episode_id,
            group_key=row.group_key,
            intake=row.intake,
            source=row.source,
            opened_at=row.opened_at,
            members=members,
            sender=row.sender,
            previous_investigation_id=row.previous_investigation_id,
            version=row.version,
            unlisted_members=unlisted,
        )

    async def changes(self, episode_id: str, *, since: int) -> Changes:
        """Give what members did after the episode's version `since`. Exact: versions move in commit order.

        Of those that stopped, and of those that fire again, MAX_LISTED_CHANGES are listed, the rest counted.
        Raises NotFound.
        """
        parameters = {"episode_id": episode_id, "since": since, "most": MAX_LISTED_CHANGES}
        row = await self._database.row(_CHANGED, parameters)
        if row is None:
            raise NotFound(f"episode {episode_id}")
        if row.version <= since:
            return Changes(since=since, version=since)
        members, unlisted = await self._members(episode_id, since=since)
        return Changes(
            since=since,
            version=row.version,
            joined=members,
            resolved=tuple(row.resolved),
            fired_again=tuple(row.fired_again),
            unlisted=unlisted,
            unlisted_resolved=row.unlisted_resolved,
            unlisted_fired_again=row.unlisted_fired_again,
        )

    async def standing(self, episode_id: str) -> Standing:
        """Say whether the episode fires, is quiet or has ended, and what followed it. Raises NotFound."""
        row = await self._database.row(_STANDING, {"episode_id": episode_id})
        if row is None:
            raise NotFound(f"episode {episode_id}")
        return Standing(**row._mapping)  # noqa: SLF001  # SQLAlchemy's public name

    async def receipts(
        self, workspace: str, *, state: ReceiptState | None = None, before: str | None = None, most: int = MAX_PAGE
    ) -> tuple[Receipt, ...]:
        """List receipts, newest first, those older than the receipt `before`; quarantined ones by `state`."""
        rows = await self._page(_RECEIPTS, most, workspace=workspace, state=state and state.value, before=before)
        return tuple(_receipt(row) for row in rows)

    async def receipts_of(self, workspace: str, investigation_id: str) -> tuple[Receipt, ...]:
        """List the newest MAX_PAGE receipts that brought members of an investigation. Raises NotFound."""
        row = await self._database.row(_EPISODE, {"id": investigation_id})
        if row is None:
            raise NotFound(f"investigation {investigation_id}")
        rows = await self._page(
            _RECEIPTS_OF,
            MAX_PAGE,
            workspace=workspace,
            intake=row.intake,
            since=row.opened_at - CLOCKS_APART,
            id=investigation_id,
        )
        return tuple(_receipt(one) for one in rows)

    async def body(self, workspace: str, digest: str) -> bytes:
        """Give the bytes of a post. Raises NotFound, also for another workspace's."""
        row = await self._database.row(_BODY, {"workspace": workspace, "digest": digest})
        if row is None:
            raise NotFound(f"body {digest}")
        return bytes(row.body)

    async def heartbeats(self, workspace: str, *, most: int = MAX_PAGE) -> tuple[AlertRow, ...]:
        """List the alerts that only prove that their sender lives, by name, the latest post first."""
        return tuple(_alert_row(row) for row in await self._page(_HEARTBEATS, most, workspace=workspace))

    async def firing(self, workspace: str, *, most: int = MAX_PAGE) -> tuple[AlertRow, ...]:
        """List the alerts that fire, most severe first."""
        return tuple(_alert_row(row) for row in await self._page(_FIRING, most, workspace=workspace))

    async def _page(self, statement: str, most: int, **parameters: object) -> Sequence[Row[Any]]:
        return await self._database.rows(statement, {**parameters, "most": max(0, min(most, MAX_PAGE))})

    async def _members(self, episode_id: str, *, since: int) -> tuple[tuple[Member, ...], int]:
        rows = await self._database.rows(
            _MEMBERS,
            {"episode_id": episode_id, "since": since, "most": MAX_LISTED_MEMBERS, "most_bytes": MAX_LISTED_BYTES},
        )
        members = tuple(_member(row) for row in rows)
        return members, (rows[0].found if rows else 0) - len(members)


def _receipt(row: Row[Any]) -> Receipt:
    return Receipt(
        receipt_id=row.receipt_id,
        intake=row.intake,
        state=ReceiptState(row.state),
        reason=row.reason,
        received_at=row.received_at,
        remote=row.remote,
        body_digest=row.body_digest,
        members=row.members,
        counts={MemberOutcome(word): count for word, count in row.counts.items()},
        warnings=tuple(row.warnings),
        investigation_ids=tuple(row.investigation_ids),
    )


def _member(row: Row[Any]) -> Member:
    """Give the alert as its first firing post described it, with what is known by now."""
    alert = Alert.parse(bytes(row.body))
    return Member(
        alert_id=row.alert_id,
        alert=alert.but(
            status=AlertStatus(row.status),
            starts_at=alert.starts_at and row.starts_at,  # a sender who gave none still gave none
            ends_at=row.ends_at,
        ),
        occurrences=row.occurrences,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
    )


def _alert_row(row: Row[Any]) -> AlertRow:
    return AlertRow(
        alert_id=row.alert_id,
        intake=row.intake,
        name=row.name,
        status=AlertStatus(row.status),
        stale=row.stale,
        labels=row.labels,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        occurrences=row.occurrences,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        episode_id=row.episode_id,
        heartbeat=row.heartbeat,
    )
