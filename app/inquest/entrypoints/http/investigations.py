"""Listing and reading investigations and their reports. Another workspace's id is a 404, like one that never was."""

import base64
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response

from inquest.domain.diagnosis import Verdict
from inquest.domain.event import Event
from inquest.domain.investigation import Status
from inquest.entrypoints.http import examples
from inquest.entrypoints.http.problems import BadParameter
from inquest.entrypoints.shown import shown
from inquest.errors import NotFound
from inquest.store.investigations import MAX_PAGE, Filters, Page, Position, PostgresInvestigations

MAX_EVENTS = 500
"""Of one answer; ask again after the last one for more."""
MAX_EVENTS_BYTES = 4 * 1024 * 1024
"""Likewise; one event that is larger comes alone."""
MAX_SERVICE_CHARS = 256

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
ID_PATTERN = "^[0-9a-f]{32}$"
ID = Annotated[str, Path(pattern=ID_PATTERN, examples=[examples.ID])]


@dataclass(frozen=True)
class Reader:
    """What the API reads of one workspace. `report` renders the newest report; it raises NotFound without one.

    `events` gives the events with a seq above a number.
    """

    investigations: PostgresInvestigations
    report: Callable[[str, ReportForm], Awaitable[bytes]]
    events: Callable[[str, int], Awaitable[Sequence[Event]]]


def investigations_router(readers: Mapping[str, Reader], *, operator: Callable[..., None]) -> APIRouter:
    """Give /v1/investigations. With one workspace its name may be left out."""
    router = APIRouter(
        prefix="/v1/investigations",
        tags=["investigations"],
        dependencies=[Depends(operator)],
        responses=examples.REFUSALS,
    )

    def reader(
        workspace: Annotated[str | None, Query(description="May be left out where there is one", max_length=63)] = None,
    ) -> Reader:
        if workspace is None and len(readers) == 1:
            return next(iter(readers.values()))
        if workspace is None:
            raise BadParameter("query.workspace", f"name one of {', '.join(sorted(readers)) or 'none'}")
        if workspace not in readers:
            msg = "no such workspace"
            raise NotFound(msg)
        return readers[workspace]

    Read = Annotated[Reader, Depends(reader)]  # noqa: N806  # a type

    @router.get("", summary="List, newest first", responses=examples.LIST)
    async def listed(
        read: Read,
        filters: Annotated[Filters, Depends(filters_of)],
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
        cursor: Annotated[str | None, Query(max_length=512, description="`next` of the page before")] = None,
    ) -> dict[str, Any]:
        page = await read.investigations.page(filters, after=read_cursor(cursor), limit=limit)
        return {"investigations": [shown(row) for row in page.rows], "next": write_cursor(page)}

    @router.get("/{investigation_id}", summary="Read one", responses=examples.ONE)
    async def one(read: Read, investigation_id: ID) -> dict[str, Any]:
        return shown(await read.investigations.get(investigation_id))

    @router.get("/{investigation_id}/events", summary="Read its journal from an event on", responses=examples.EVENTS)
    async def events(
        read: Read,
        investigation_id: ID,
        after: Annotated[int, Query(ge=0, le=2**31 - 1, description="seq of the last one known")] = 0,
    ) -> dict[str, Any]:
        return _events(await read.events(investigation_id, after))

    @router.get("/{investigation_id}/report", summary="Read its newest report, in any form", responses=examples.REPORT)
    async def report(
        read: Read, investigation_id: ID, form: Annotated[ReportForm, Query(alias="form")] = "json"
    ) -> Response:
        raw = await read.report(investigation_id, form)
        return Response(raw, media_type=MEDIA_TYPES[form], headers=REPORT_HEADERS)

    return router


def filters_of(
    status: Annotated[list[Status] | None, Query(max_length=len(Status))] = None,
    service: Annotated[str | None, Query(max_length=MAX_SERVICE_CHARS)] = None,
    verdict: Annotated[Verdict | None, Query()] = None,
    since: Annotated[datetime | None, Query(description="Opened then or later: RFC 3339 with a zone")] = None,
) -> Filters:
    """Give what a list is restricted to. Raises BadParameter."""
    if since is not None and since.tzinfo is None:
        raise BadParameter("query.since", "needs a time zone, as in 2026-03-01T10:00:00Z or +01:00 (written %2B01:00)")
    if service is not None and "\x00" in service:
        raise BadParameter("query.service", "holds a character that no name has")
    return Filters(
        statuses=None if status is None else tuple(status),
        service=service,
        verdict=None if verdict is None else verdict.value,
        since=since,
    )


def _events(found: Sequence[Event]) -> dict[str, Any]:
    """Give a page of events: `next` is what to ask `after` for the rest, None when this is all there is now."""
    page: list[Event] = []
    left = MAX_EVENTS_BYTES
    for event in found[:MAX_EVENTS]:
        left -= len(event.body.canonical())
        if page and left < 0:
            break
        page.append(event)
    rest = len(found) > len(page)
    return {
        "events": [event.model_dump(mode="json") for event in page],
        "next": page[-1].seq if rest else None,
    }


def write_cursor(page: Page) -> str | None:
    """Give the cursor of the next page, None on the last. It holds a position, no right."""
    return None if page.next is None else base64.urlsafe_b64encode(page.next.canonical()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> Position | None:
    """Read a cursor back. Raises BadParameter when it is none of ours."""
    if cursor is None:
        return None
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        position = Position.parse(json.dumps(json.loads(raw)))
    except (ValueError, RecursionError):
        position = None
    if position is None or not re.fullmatch(ID_PATTERN, position.investigation_id):
        raise BadParameter("query.cursor", "not one that this API gave out")
    return position
