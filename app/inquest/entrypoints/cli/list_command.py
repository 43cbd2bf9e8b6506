"""The options and the help of `list`. Quick to import: what it does is in `listing`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from inquest.entrypoints.cli.environment import read_settings
from inquest.entrypoints.cli.given import ListAsked

# A test compares these with the domain's, which are slow to import.


class StatusWord(StrEnum):
    """Where an investigation stands."""

    DEFERRED = "deferred"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETING = "deleting"


class SeverityWord(StrEnum):
    """How severe its alerts are, at most."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class VerdictWord(StrEnum):
    """What it came to."""

    CAUSE_FOUND = "cause_found"
    CONTRIBUTING_ONLY = "contributing_only"
    INCONCLUSIVE = "inconclusive"
    HEALTHY = "healthy"


def list_investigations(  # noqa: PLR0913  # the options of the command, all by name
    *,
    workspace: Annotated[str | None, typer.Option(help="Workspace to list (default: the only one).")] = None,
    status: Annotated[list[StatusWord] | None, typer.Option(help="Of this status (may be given again).")] = None,
    severity: Annotated[list[SeverityWord] | None, typer.Option(help="Of this severity (may be given again).")] = None,
    verdict: Annotated[VerdictWord | None, typer.Option(help="Of this verdict.")] = None,
    service: Annotated[str | None, typer.Option(help="Of exactly this service.")] = None,
    alert: Annotated[str | None, typer.Option(metavar="NAME", help="With an alert of exactly this name.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Opened then or later: 2026-03-01T10:00:00Z, or 2h ago.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Opened before then.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most so many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on behind a page: what that one said.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """List investigations, newest first: of this installation, or at INQUEST_URL where that is set."""
    from inquest.entrypoints.cli.listing import show_list

    asked = ListAsked(
        workspace=workspace, statuses=tuple(status or ()), severities=tuple(severity or ()), verdict=verdict,
        service=service, alert=alert, since=since, until=until, limit=limit, cursor=cursor,
    )  # fmt: skip
    show_list(read_settings(), asked, as_json=as_json)
