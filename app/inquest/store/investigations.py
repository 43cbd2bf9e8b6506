"""The rows of investigations: opening one, reading one, listing them. Another workspace's do not exist."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from inquest.domain.budget import Spend
from inquest.domain.investigation import Identity, Origin, Status
from inquest.domain.value import Instant, Value
from inquest.errors import Gone, InvariantBroken, NotFound
from inquest.store.database import Database
from inquest.store.lease import Opening
from inquest.store.rules import check_text

MAX_PAGE = 200

_COLUMNS = """
  investigation_id, workspace, episode_id, session_id, workflow, status, severity_rank, not_before, defer_reason,
  owner_id, generation, attempt, lease_expires_at, version, deadline_at, spend, parent_id, origin, verdict, title,
  service, created_at, started_at, ended_at, question_id, question_prompt, question_raised_at, question_expires_at
"""
_ROWS = """
inquest.investigation i left join lateral (
  select q.interrupt_id as question_id, q.prompt as question_prompt, q.raised_at as question_raised_at,
    q.expires_at as question_expires_at
  from inquest.interrupt q
  where i.status = 'waiting' and q.investigation_id = i.investigation_id and q.answered_at is null
  order by q.raised_at desc limit 1) asked on true
"""
_OPEN = "select inquest.open_investigation(%(workspace)s, %(p)s::jsonb)"
_GET = f"""
select {_COLUMNS} from {_ROWS} where investigation_id = %(id)s and workspace = %(workspace)s
"""  # noqa: S608  # our own column names
_LIST = f"""
select {_COLUMNS} from {_ROWS}
where workspace = %(workspace)s
  and case when %(statuses)s::text[] is null then status <> 'deleting' else status = any (%(statuses)s::text[]) end
  and (%(severity_ranks)s::int[] is null or severity_rank = any (%(severity_ranks)s::int[]))
  and (%(alert)s::text is null or title = %(alert)s::text or exists (
    select from inquest.alert a where a.episode_id = i.episode_id and a.name = %(alert)s::text))
  and (%(service)s::text is null or service = %(service)s::text)
  and (%(verdict)s::text is null or verdict = %(verdict)s::text)
  and (%(episode_id)s::text is null or episode_id = %(episode_id)s::text)
  and (%(since)s::timestamptz is null or created_at >= %(since)s::timestamptz)
  and (%(until)s::timestamptz is null or created_at < %(until)s::timestamptz)
  and (%(created_at)s::timestamptz is null
    or (created_at, investigation_id) < (%(created_at)s::timestamptz, %(investigation_id)s::text))
order by created_at desc, investigation_id desc
limit %(limit)s
"""  # noqa: S608  # our own column names


class OpenQuestion(Value):
    """What a waiting investigation asks. The prompt is a model's, or names what the configuration has: it is text."""

    interrupt_id: str
    prompt: str
    raised_at: Instant
    expires_at: Instant


class InvestigationRow(Value):
    """One investigation as lists and pages show it. `title` and `verdict` are "" while unknown.

    `severity_rank` is 4 critical .. 1 info; `lease_expires_at` is None while nobody owns it; `question` is None
    unless it waits.
    """

    identity: Identity
    status: Status
    severity_rank: int
    not_before: Instant | None
    defer_reason: str
    owner_id: str | None
    generation: int
    attempt: int
    lease_expires_at: Instant | None
    version: int
    deadline_at: Instant | None
    spend: Spend
    parent_id: str | None
    origin: Origin | None
    verdict: str
    title: str
    service: str
    created_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    question: OpenQuestion | None = None


class Filters(Value):
    """What a list is restricted to; None does not restrict. Deleted ones are listed by their status only."""

    statuses: tuple[Status, ...] | None = None
    severity_ranks: tuple[int, ...] | None = None
    alert: str | None = None
    """The name of an alert of its episode."""
    service: str | None = None
    verdict: str | None = None
    episode_id: str | None = None
    since: Instant | None = None
    """Opened at this moment or later."""
    until: Instant | None = None
    """Opened before this moment."""


class Position(Value):
    """Where a page ended: the next one begins after it. It stays right while new ones are opened."""

    created_at: Instant
    investigation_id: str


_QUESTION = ("id", "prompt", "raised_at", "expires_at")


class Page(Value):
    """Investigations, newest first. `next` is None on the last page."""

    rows: tuple[InvestigationRow, ...]
    next: Position | None


class PostgresInvestigations:
    """The investigations of one workspace."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace

    async def open(self, opening: Opening) -> bool:
        """Create an investigation and ring; False when the id is there already, and nothing changed.

        Raises NotFound when the workspace has no such episode.
        """
        check_text("title", opening.title)
        check_text("service", opening.service)
        document = json.dumps(opening.model_dump(mode="json"))
        opened: bool = await self._database.value(_OPEN, {"workspace": self._workspace, "p": document})
        return opened

    async def get(self, investigation_id: str) -> InvestigationRow:
        """Read one. Raises NotFound, also for one of another workspace, and Gone for one that was deleted."""
        found = await self._database.row(_GET, {"id": investigation_id, "workspace": self._workspace})
        if found is None:
            raise NotFound(f"investigation {investigation_id}")
        if found.status == Status.DELETING:
            raise Gone(f"investigation {investigation_id} was deleted")
        return _row(found)

    async def page(self, filters: Filters, *, after: Position | None = None, limit: int = 50) -> Page:
        """List at most `limit`, 1 to MAX_PAGE, newest first, from after `after`. Raises InvariantBroken."""
        if not 1 <= limit <= MAX_PAGE:
            raise InvariantBroken(f"a page has 1 to {MAX_PAGE} rows, {limit} were asked for")
        found = await self._database.rows(_LIST, self._asked(filters, after, limit + 1))
        rows = tuple(_row(row) for row in found[:limit])
        if len(found) <= limit:
            return Page(rows=rows, next=None)
        last = rows[-1]
        return Page(rows=rows, next=Position(created_at=last.created_at, investigation_id=last.identity.run_id))

    def _asked(self, filters: Filters, after: Position | None, limit: int) -> Mapping[str, object]:
        return {
            "workspace": self._workspace,
            "statuses": None if filters.statuses is None else [str(status) for status in filters.statuses],
            "service": filters.service,
            "verdict": filters.verdict,
            "episode_id": filters.episode_id,
            "severity_ranks": None if filters.severity_ranks is None else list(filters.severity_ranks),
            "alert": filters.alert,
            "since": filters.since,
            "until": filters.until,
            "created_at": None if after is None else after.created_at,
            "investigation_id": None if after is None else after.investigation_id,
            "limit": limit,
        }


def _row(row: Row[Any]) -> InvestigationRow:
    columns = dict(row._mapping)  # noqa: SLF001  # SQLAlchemy's public name
    identity = Identity(
        workspace_id=columns.pop("workspace"),
        task_id=columns.pop("episode_id"),
        run_id=columns.pop("investigation_id"),
        session_id=columns.pop("session_id"),
        workflow_id=columns.pop("workflow"),
    )
    origin, status = columns.pop("origin"), Status(columns.pop("status"))
    name, prompt, raised_at, expires_at = (columns.pop(f"question_{part}") for part in _QUESTION)
    question = None
    if name is not None:
        question = OpenQuestion(interrupt_id=name, prompt=prompt, raised_at=raised_at, expires_at=expires_at)
    return InvestigationRow(
        identity=identity,
        status=status,
        origin=Origin(**origin) if origin else None,
        spend=Spend(**columns.pop("spend")),
        question=question,
        **columns,
    )
