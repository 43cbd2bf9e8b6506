"""What nobody keeps any more: the rules are `migrations/sql/0023_retention.sql`, and those of a delete for what ended."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from inquest.domain.intake import RetentionAges
from inquest.errors import Gone, NotFound
from inquest.ports import Removed
from inquest.store.actions import PostgresActions
from inquest.store.database import Database

RETENTION_EVERY = timedelta(hours=1)
MAX_REMOVED_AT_ONCE = 50
"""Rows of each kind that one step removes in a workspace; steps follow one another until nothing is left."""

_BEGIN = "select inquest.begin_retention(%(every_s)s)"
_INVESTIGATIONS = "select id from inquest.old_investigations(%(workspace)s, %(age)s, %(most)s) id"
_RECEIPTS = "select receipts, bodies from inquest.remove_receipts(%(workspace)s, %(age)s, %(most)s)"
_EPISODES = "select id from inquest.old_episodes(%(workspace)s, %(age)s, %(most)s) id"
_EPISODE = "select inquest.remove_episode(%(id)s, %(age)s)"
_LOOSE = "select inquest.remove_loose_alerts(%(workspace)s, %(age)s, %(most)s)"


class PostgresRetention:
    """`ports.Retention` over the workspaces of `ages`. Others are left alone: nobody said how long they are kept."""

    def __init__(self, database: Database, ages: Mapping[str, RetentionAges]) -> None:
        self._database = database
        self._ages = dict(ages)

    async def begin(self) -> bool:
        """Say whether a pass is this caller's: of all workers one has it, once in RETENTION_EVERY."""
        began: bool = await self._database.value(_BEGIN, {"every_s": int(RETENTION_EVERY.total_seconds())})
        return began

    async def remove(self) -> Removed:
        """Remove a bounded amount of what is old; nothing when nothing is left. What lives is not touched."""
        removed = Removed()
        for workspace, ages in self._ages.items():
            removed = removed.and_(await self._remove(workspace, ages))
        return removed

    async def _remove(self, workspace: str, ages: RetentionAges) -> Removed:
        asked = {"workspace": workspace, "age": ages.intake, "most": MAX_REMOVED_AT_ONCE}
        receipts = await self._database.row(_RECEIPTS, asked)
        episodes = await self._episodes(asked)
        return Removed(
            investigations=await self._bury(workspace, ages.investigations),
            receipts=0 if receipts is None else receipts.receipts,
            bodies=0 if receipts is None else receipts.bodies,
            episodes=len(episodes),
            alerts=sum(episodes) + int(await self._database.value(_LOOSE, asked)),
        )

    async def _bury(self, workspace: str, age: timedelta) -> int:
        """Delete old investigations as an operator would: each a tombstone, then its purge."""
        asked = {"workspace": workspace, "age": age, "most": MAX_REMOVED_AT_ONCE}
        actions, buried = PostgresActions(self._database, workspace), 0
        for row in await self._database.rows(_INVESTIGATIONS, asked):
            try:
                await actions.delete(row.id)
            except (Gone, NotFound):  # somebody deleted it meanwhile
                continue
            buried += 1
        return buried

    async def _episodes(self, asked: Mapping[str, object]) -> list[int]:
        """Remove episodes, each in its own transaction; gives how many alerts each had."""
        found = await self._database.rows(_EPISODES, asked)
        gone = [await self._database.value(_EPISODE, {"id": row.id, "age": asked["age"]}) for row in found]
        return [alerts for alerts in gone if alerts is not None]
