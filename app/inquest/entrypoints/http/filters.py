"""What a list is restricted to, and where a page of it begins: read from a request, or refused by name."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import Query

from inquest.domain.alert import severity_rank
from inquest.domain.diagnosis import Verdict
from inquest.domain.investigation import Status
from inquest.entrypoints.http.problems import BadParameter
from inquest.entrypoints.http.readers import ID_PATTERN
from inquest.store.investigations import Filters, Page, Position

MAX_NAME_CHARS = 256
"""Of a service or an alert."""
MAX_CURSOR_CHARS = 512


class Severity(StrEnum):
    """How severe an investigation's alerts are, at most; a sender's own word is one of these four to us."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


def filters_of(
    status: Annotated[list[Status] | None, Query(max_length=len(Status), examples=[["queued", "running"]])] = None,
    severity: Annotated[list[Severity] | None, Query(max_length=len(Severity), examples=[["critical"]])] = None,
    service: Annotated[str | None, Query(max_length=MAX_NAME_CHARS, examples=["checkout"])] = None,
    alert: Annotated[
        str | None,
        Query(max_length=MAX_NAME_CHARS, description="Name of an alert of its episode", examples=["HighErrorRatio"]),
    ] = None,
    verdict: Annotated[Verdict | None, Query(examples=["cause_found"])] = None,
    since: Annotated[
        datetime | None,
        Query(description="Opened then or later: RFC 3339 with a zone", examples=["2026-03-01T10:00:00Z"]),
    ] = None,
    until: Annotated[
        datetime | None,
        Query(description="Opened before then: RFC 3339 with a zone", examples=["2026-03-02T10:00:00Z"]),
    ] = None,
) -> Filters:
    """Give what a list is restricted to. Raises BadParameter."""
    return Filters(
        statuses=None if status is None else tuple(status),
        severity_ranks=None if severity is None else tuple(severity_rank(one) for one in severity),
        service=_name("service", service),
        alert=_name("alert", alert),
        verdict=None if verdict is None else verdict.value,
        since=_moment("since", since),
        until=_moment("until", until),
    )


def _name(parameter: str, given: str | None) -> str | None:
    if given is not None and "\x00" in given:
        raise BadParameter(f"query.{parameter}", "holds a character that no name has")
    return given


def _moment(parameter: str, given: datetime | None) -> datetime | None:
    if given is None:
        return None
    if given.tzinfo is None:
        raise BadParameter(
            f"query.{parameter}", "needs a time zone, as in 2026-03-01T10:00:00Z or +01:00 (written %2B01:00)"
        )
    try:
        Filters(since=given)
    except ValueError as error:
        raise BadParameter(f"query.{parameter}", "no moment that can be meant") from error
    return given


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
