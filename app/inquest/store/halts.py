"""The kill switch: what is halted, since when, by whom. The rules are `migrations/sql/0021_halt.sql`."""

from __future__ import annotations

from pydantic import Field

from inquest.domain.value import Instant, Value
from inquest.store.database import Database
from inquest.store.rules import check_text

EVERYTHING = ""
"""The name under which all workspaces are halted."""
MAX_ACTOR_CHARS = 200

_HALT = "select inquest.halt_work(%(workspace)s, %(actor)s)"
_RESUME = "select inquest.resume_work(%(workspace)s)"
_STANDING = "select workspace, since, actor from inquest.halt order by workspace"


class Halt(Value):
    """One halt that stands. `workspace` is "" where everything is halted."""

    workspace: str
    since: Instant
    actor: str = Field(max_length=MAX_ACTOR_CHARS)

    def covers(self, workspace: str) -> bool:
        """Say whether nothing may begin in `workspace` because of it."""
        return self.workspace in (workspace, EVERYTHING)


class PostgresHalts:
    """The halts of one database. Each method may raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def halt(self, workspace: str = EVERYTHING, *, actor: str = "") -> bool:
        """Let nothing be claimed, reserved or sent in `workspace` until `resume`; False when that was so already.

        What runs lets go at its next reservation and is queued again, at no charge. Alerts are taken in.
        """
        check_text("workspace", workspace)
        check_text("actor", actor)
        parameters = {"workspace": workspace, "actor": actor[:MAX_ACTOR_CHARS]}
        began: bool = await self._database.value(_HALT, parameters)
        return began

    async def resume(self, workspace: str = EVERYTHING) -> bool:
        """End the halt of this name and ring for what waited; False when there was none.

        A workspace that was halted by its name stays so when everything is resumed, and the other way round.
        """
        check_text("workspace", workspace)
        ended: bool = await self._database.value(_RESUME, {"workspace": workspace})
        return ended

    async def standing(self) -> tuple[Halt, ...]:
        """Give the halts that stand, that of everything first."""
        return tuple(Halt(**row._mapping) for row in await self._database.rows(_STANDING, {}))  # noqa: SLF001  # SQLAlchemy's public name
