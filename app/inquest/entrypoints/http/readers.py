"""What the routes of investigations need of each workspace, and which workspace a request means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Path, Query

from inquest.bootstrap.exporting import Exporting
from inquest.domain.intake import DailyCeilings
from inquest.entrypoints.http import examples
from inquest.entrypoints.http.problems import BadParameter
from inquest.errors import NotFound
from inquest.store.actions import PostgresActions
from inquest.store.event_pages import PostgresEvents
from inquest.store.investigations import PostgresInvestigations
from inquest.wire.redaction import Redactor

MAX_WORKSPACE_CHARS = 63
ReportForm = Literal["md", "json", "html"]
ID_PATTERN = "^[0-9a-f]{32}$"
ID = Annotated[str, Path(pattern=ID_PATTERN, description="Of an investigation", examples=[examples.ID])]


@dataclass(frozen=True)
class Reader:
    """One workspace. `report` renders the newest report of an investigation; it raises NotFound without one."""

    investigations: PostgresInvestigations
    events: PostgresEvents
    actions: PostgresActions
    report: Callable[[str, ReportForm], Awaitable[bytes]]
    ceilings: DailyCeilings
    workspace: str
    exporting: Exporting
    redactor: Redactor


def named_by(readers: Mapping[str, Reader]) -> Callable[..., Reader]:
    """Give the dependency that finds the workspace of a request. With one workspace its name may be left out."""

    def named(
        workspace: Annotated[
            str | None,
            Query(
                description="May be left out where there is one", max_length=MAX_WORKSPACE_CHARS, examples=["default"]
            ),
        ] = None,
    ) -> Reader:
        if workspace is None and len(readers) == 1:
            return next(iter(readers.values()))
        if workspace is None:
            raise BadParameter("query.workspace", f"name one of {', '.join(sorted(readers)) or 'none'}")
        if workspace not in readers:
            msg = "no such workspace"
            raise NotFound(msg)
        return readers[workspace]

    return named
