"""Listing and reading investigations and their reports. Another workspace's id is a 404, like one that never was."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.responses import JSONResponse

from inquest.entrypoints.http import examples, streams
from inquest.entrypoints.http.filters import MAX_CURSOR_CHARS, filters_of, read_cursor, write_cursor
from inquest.entrypoints.http.problems import BadParameter
from inquest.entrypoints.http.readers import ID, Reader, ReportForm, named_by
from inquest.entrypoints.http.streams import EventStream, Streams
from inquest.entrypoints.shown import shown
from inquest.store.event_pages import EventPage
from inquest.store.investigations import MAX_PAGE, Filters

MAX_EVENTS = 500
"""Of one answer; ask again after the last one for more."""
MAX_EVENTS_BYTES = 4 * 1024 * 1024
"""Likewise; one event that is larger comes alone."""
MAX_SEQ = 2**31 - 1

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


def investigations_router(
    readers: Mapping[str, Reader], open_streams: Streams, *, operator: Callable[..., None]
) -> APIRouter:
    """Give the routes under /v1/investigations that only read."""
    router = APIRouter(
        prefix="/v1/investigations",
        tags=["investigations"],
        dependencies=[Depends(operator)],
        responses=examples.REFUSALS,
    )
    Read = Annotated[Reader, Depends(named_by(readers))]  # noqa: N806  # a type

    @router.get("", summary="List, newest first", responses=examples.LIST)
    async def listed(
        read: Read,
        filters: Annotated[Filters, Depends(filters_of)],
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
        cursor: Annotated[
            str | None, Query(max_length=MAX_CURSOR_CHARS, description="`next` of the page before")
        ] = None,
    ) -> JSONResponse:
        page = await read.investigations.page(filters, after=read_cursor(cursor), limit=limit)
        return JSONResponse({"investigations": [shown(row) for row in page.rows], "next": write_cursor(page)})

    @router.get("/{investigation_id}", summary="Read one", responses=examples.ONE)
    async def one(read: Read, investigation_id: ID) -> JSONResponse:
        return JSONResponse(shown(await read.investigations.get(investigation_id)))

    @router.get(
        "/{investigation_id}/events",
        summary="Read its journal from an event on: a page, or a stream",
        responses=examples.EVENTS,
    )
    async def events(
        read: Read,
        investigation_id: ID,
        after: Annotated[int, Query(ge=0, le=MAX_SEQ, description="seq of the last one known")] = 0,
        last_event_id: Annotated[
            str | None,
            Header(alias="Last-Event-ID", description="Of a stream taken up again; before `after`", examples=["7"]),
        ] = None,
        accept: Annotated[str, Header(include_in_schema=False)] = "",
    ) -> Response:
        if asks_for_stream(accept):
            return await _stream(
                read, investigation_id, after if last_event_id is None else _seq(last_event_id), open_streams
            )
        page = await read.events.page(investigation_id, after=after, most=MAX_EVENTS, most_bytes=MAX_EVENTS_BYTES)
        return JSONResponse(_events(page), headers={"Vary": "Accept"})

    @router.get("/{investigation_id}/report", summary="Read its newest report, in any form", responses=examples.REPORT)
    async def report(
        read: Read, investigation_id: ID, form: Annotated[ReportForm, Query(alias="form")] = "json"
    ) -> Response:
        await read.investigations.get(investigation_id)
        raw = await read.report(investigation_id, form)
        return Response(raw, media_type=MEDIA_TYPES[form], headers=REPORT_HEADERS)

    return router


async def _stream(read: Reader, investigation_id: str, after: int, open_streams: Streams) -> Response:
    """Begin a stream behind `after`, once it is known that there is something to stream."""

    async def read_on(known: int) -> EventPage:
        return await read.events.page(
            investigation_id, after=known, most=streams.MAX_PAGE_EVENTS, most_bytes=streams.MAX_PAGE_BYTES
        )

    if open_streams.are_full:
        return streams.too_many()
    first = await read_on(after)
    if first.is_the_end and not first.events:
        return Response(status_code=204)  # a browser that takes an ended stream up again stops at this
    return EventStream(open_streams, investigation_id, first, read_on)


def asks_for_stream(accept: str) -> bool:
    """Say whether an Accept header names text/event-stream."""
    return any(part.partition(";")[0].strip().lower() == streams.MEDIA_TYPE for part in accept.split(","))


def _seq(last_event_id: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", last_event_id, re.ASCII) or int(last_event_id) > MAX_SEQ:
        raise BadParameter("header.last-event-id", "not the id of an event")
    return int(last_event_id)


def _events(page: EventPage) -> dict[str, Any]:
    """Give a page of events: `next` is what to ask `after` for the rest, None when this is all there is now."""
    return {
        "events": [event.model_dump(mode="json") for event in page.events],
        "next": page.last if page.has_more and page.events else None,
    }
