"""Journals in pages, for whoever watches: bounded, and without the effects that only their owner needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from inquest.domain.event import Event
from inquest.domain.investigation import TERMINAL, Status
from inquest.domain.value import Value
from inquest.errors import Gone, NotFound
from inquest.store.chain import read_part
from inquest.store.database import Database
from inquest.store.journal import stored_event

_PAGE = """
select i.version as of_version, i.status, e.*
from inquest.investigation i
left join lateral (
  select * from (
    select p.*, sum(octet_length(p.body)) over (order by p.seq) as bytes, row_number() over (order by p.seq) as place
    from (
      select * from inquest.event x where x.investigation_id = i.investigation_id and x.seq > %(after)s
      order by x.seq limit %(most)s) p) bounded
  where bytes <= %(most_bytes)s or place = 1) e on true
where i.investigation_id = %(id)s and i.workspace = %(workspace)s
order by e.seq
"""
_VERSIONS = """
select investigation_id, version, status from inquest.investigation where investigation_id = any (%(ids)s::text[])
"""


class EventPage(Value):
    """Events in order, from the one after `after` on; `version` is the seq of the last one there is."""

    after: int
    events: tuple[Event, ...]
    version: int
    status: Status

    @property
    def last(self) -> int:
        """Give what to ask `after` for the next page."""
        return self.events[-1].seq if self.events else self.after

    @property
    def has_more(self) -> bool:
        """Say whether there are events behind this page."""
        return self.last < self.version

    @property
    def is_the_end(self) -> bool:
        """Say whether nothing will ever follow this page."""
        return self.status in TERMINAL and not self.has_more


class PostgresEvents:
    """The journals of one workspace, in pages."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace

    async def page(self, investigation_id: str, *, after: int, most: int, most_bytes: int) -> EventPage:
        """Give at most `most` events and `most_bytes` of their bodies; one that is larger comes alone.

        Raises NotFound, Gone, StoreUnavailable, and ReplayMismatch naming a broken link.
        """
        rows = await self._database.rows(
            _PAGE,
            {
                "id": investigation_id,
                "workspace": self._workspace,
                "after": after,
                "most": most,
                "most_bytes": most_bytes,
            },
        )
        if not rows:
            raise NotFound(f"investigation {investigation_id}")
        status = Status(rows[0].status)
        if status is Status.DELETING:
            raise Gone(f"investigation {investigation_id} was deleted")
        events = read_part((stored_event(row) for row in rows if row.seq is not None), after)
        return EventPage(after=after, events=events, version=rows[0].of_version, status=status)


class PostgresVersions:
    """How far journals have got, for many watchers in one question: ids that they have been shown already."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, ids: Collection[str]) -> Mapping[str, tuple[int, Status]]:
        """Give version and status of each that is there. Raises StoreUnavailable."""
        rows = await self._database.rows(_VERSIONS, {"ids": list(ids)})
        return {row.investigation_id: (row.version, Status(row.status)) for row in rows}
