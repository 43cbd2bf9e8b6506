"""Listing and reading investigations and their reports. Another workspace's id is a 404, like one that never was."""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response

from inquest.domain.event import Event
from inquest.domain.investigation import Status
from inquest.errors import BadBody, NotFound
from inquest.store.investigations import MAX_PAGE, Filters, InvestigationRow, Page, Position, PostgresInvestigations

MAX_EVENTS = 500
"""Of one answer; ask again after the last one for more."""

ReportForm = Literal["md", "json", "html"]
MEDIA_TYPES: dict[ReportForm, str] = {
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
}
REPORT_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
ID = Annotated[str, Path(pattern="^[0-9a-f]{32}$", examples=["0199a3c5f0a17c3e8b1d2f4a6c8e0b12"])]


@dataclass(frozen=True)
class Reader:
    """What the API reads of one workspace. `report` renders the newest report; it raises NotFound without one."""

    investigations: PostgresInvestigations
    report: Callable[[str, ReportForm], Awaitable[bytes]]
    events: Callable[[str], Awaitable[tuple[Event, ...]]]


def investigations_router(readers: Mapping[str, Reader], *, operator: Callable[..., None]) -> APIRouter:
    """Give /v1/investigations. With one workspace its name may be left out."""
    router = APIRouter(prefix="/v1/investigations", tags=["investigations"], dependencies=[Depends(operator)])

    def reader(workspace: str | None = None) -> Reader:
        name = workspace if workspace is not None else next(iter(readers), "") if len(readers) == 1 else "default"
        if name not in readers:
            msg = "no such workspace"
            raise NotFound(msg)
        return readers[name]

    Read = Annotated[Reader, Depends(reader)]  # noqa: N806  # a type

    @router.get("", summary="List, newest first")
    async def listed(
        read: Read,
        status: Annotated[list[Status] | None, Query()] = None,
        service: str | None = None,
        verdict: str | None = None,
        since: datetime | None = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
        cursor: Annotated[str | None, Query(max_length=512)] = None,
    ) -> dict[str, Any]:
        filters = Filters(
            statuses=None if status is None else tuple(status), service=service, verdict=verdict, since=since
        )
        page = await read.investigations.page(filters, after=read_cursor(cursor), limit=limit)
        return {"investigations": [shown(row) for row in page.rows], "next": write_cursor(page)}

    @router.get("/{investigation_id}", summary="Read one")
    async def one(read: Read, investigation_id: ID) -> dict[str, Any]:
        return shown(await read.investigations.get(investigation_id))

    @router.get("/{investigation_id}/events", summary="Read its journal from an event on")
    async def events(
        read: Read,
        investigation_id: ID,
        after: Annotated[int, Query(ge=0, description="seq of the last one known")] = 0,
    ) -> dict[str, Any]:
        await read.investigations.get(investigation_id)
        found = [event for event in await read.events(investigation_id) if event.seq > after][:MAX_EVENTS]
        return {"events": [event.model_dump(mode="json") for event in found]}

    @router.get("/{investigation_id}/report", summary="Read its newest report, in any form")
    async def report(
        read: Read, investigation_id: ID, form: Annotated[ReportForm, Query(alias="form")] = "json"
    ) -> Response:
        await read.investigations.get(investigation_id)
        return Response(await read.report(investigation_id, form), media_type=MEDIA_TYPES[form], headers=REPORT_HEADERS)

    return router


def shown(row: InvestigationRow) -> dict[str, Any]:
    """Give one investigation as the API and `--json` show it; times are RFC 3339 in UTC."""
    written = row.model_dump(mode="json", exclude={"identity", "owner_id", "lease_expires_at", "version"})
    return {
        "id": row.identity.run_id,
        "workspace": row.identity.workspace_id,
        "episode_id": row.identity.task_id,
        "opened_by": row.identity.session_id,
        "workflow": row.identity.workflow_id,
        **written,
    }


def write_cursor(page: Page) -> str | None:
    """Give the cursor of the next page, None on the last. It holds a position, no right."""
    return None if page.next is None else base64.urlsafe_b64encode(page.next.canonical()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> Position | None:
    """Read a cursor back. Raises BadBody when it is none of ours."""
    if cursor is None:
        return None
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return Position.parse(json.dumps(json.loads(raw)))
    except ValueError as error:
        msg = "cursor: not one that this API gave out"
        raise BadBody(msg) from error
