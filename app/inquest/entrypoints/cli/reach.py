"""Where a command reads and acts: at the database of this installation, or through the service at INQUEST_URL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from inquest.bootstrap.trial.moment import moment_of
from inquest.domain.alert import severity_rank
from inquest.domain.investigation import Status
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.given import ListAsked
from inquest.entrypoints.cli.remote import Service, connected
from inquest.entrypoints.cli.store_access import with_database
from inquest.entrypoints.http.acting import told
from inquest.entrypoints.http.filters import read_cursor, write_cursor
from inquest.entrypoints.http.halting import halts_shown
from inquest.entrypoints.http.problems import BadParameter
from inquest.entrypoints.shown import shown
from inquest.errors import ConfigurationError, NotFound
from inquest.runtime.clock import RandomIds
from inquest.settings import Settings
from inquest.store.actions import PostgresActions
from inquest.store.database import Database
from inquest.store.halts import EVERYTHING, PostgresHalts
from inquest.store.investigations import Filters, PostgresInvestigations

T = TypeVar("T")
INVESTIGATIONS = "/v1/investigations"
_WORKSPACES = "select distinct workspace from inquest.investigation order by workspace"


class Reach(Protocol):
    """What commands do with investigations; every answer is as the API gives it."""

    async def page(self, asked: ListAsked) -> Mapping[str, Any]:
        """List: {investigations, next}."""

    async def one(self, investigation_id: str) -> Mapping[str, Any]:
        """Read one."""

    async def answer(self, investigation_id: str, interrupt_id: str, text: str) -> Mapping[str, Any]:
        """Answer what one asks; give it."""

    async def cancel(self, investigation_id: str) -> Mapping[str, Any]:
        """End one; give it."""

    async def rerun(self, investigation_id: str, key: str | None) -> Mapping[str, Any]:
        """Open another of the same episode; give that."""

    async def delete(self, investigation_id: str) -> Mapping[str, Any]:
        """Delete one; give what stays."""

    async def halts(self) -> Mapping[str, Any]:
        """Give what is halted: {halts}."""

    async def halt(self, workspace: str | None, by: str) -> Mapping[str, Any]:
        """Halt a workspace, or everything; give what is halted then."""

    async def resume(self, workspace: str | None, by: str) -> Mapping[str, Any]:
        """End a halt; give what is halted then."""


def reached(settings: Settings, use: Callable[[Reach], Awaitable[T]]) -> T:
    """Run `use` at the service where INQUEST_URL names one, else at the database."""
    if settings.url is None:
        return with_database(settings, lambda database: use(AtDatabase(database)))

    async def there() -> T:
        async with connected(settings) as service:
            return await use(AtService(service))

    return asyncio.run(there())


class AtDatabase:
    """Every workspace of the database: for the operator who has its URL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, asked: ListAsked) -> Mapping[str, Any]:
        """List. Raises ConfigurationError naming the option that cannot be meant."""
        try:
            after = read_cursor(asked.cursor)
        except BadParameter as error:
            msg = "--cursor: not one that a page before gave out"
            raise ConfigurationError(msg) from error
        filters, workspace = filters_of(asked, datetime.now(UTC)), asked.workspace or await self._only_workspace()
        page = await PostgresInvestigations(self._database, workspace).page(filters, after=after, limit=asked.limit)
        return {"investigations": [shown(row) for row in page.rows], "next": write_cursor(page)}

    async def one(self, investigation_id: str) -> Mapping[str, Any]:
        """Read one."""
        return await self._shown(await self._workspace_of(investigation_id), investigation_id)

    async def answer(self, investigation_id: str, interrupt_id: str, text: str) -> Mapping[str, Any]:
        """Answer what one asks; give it."""
        workspace = await self._workspace_of(investigation_id)
        await PostgresActions(self._database, workspace).answer(investigation_id, interrupt_id, text)
        return await self._shown(workspace, investigation_id)

    async def cancel(self, investigation_id: str) -> Mapping[str, Any]:
        """End one; give it."""
        workspace = await self._workspace_of(investigation_id)
        await PostgresActions(self._database, workspace).cancel(investigation_id)
        return await self._shown(workspace, investigation_id)

    async def rerun(self, investigation_id: str, key: str | None) -> Mapping[str, Any]:
        """Open another of the same episode; give that. A day whose dollars are spent defers it when it is claimed."""
        workspace = await self._workspace_of(investigation_id)
        found = await PostgresActions(self._database, workspace).rerun(
            investigation_id, RandomIds().new(), key=key or ""
        )
        return await self._shown(workspace, found.investigation_id)

    async def delete(self, investigation_id: str) -> Mapping[str, Any]:
        """Delete one; give what stays."""
        workspace = await self._workspace_of(investigation_id)
        return told(await PostgresActions(self._database, workspace).delete(investigation_id))

    async def halts(self) -> Mapping[str, Any]:
        """Give what is halted."""
        return halts_shown(await PostgresHalts(self._database).standing())

    async def halt(self, workspace: str | None, by: str) -> Mapping[str, Any]:
        """Halt. Raises NotFound for a workspace that nothing was ever taken in for: a wrong name would halt nothing."""
        if workspace is not None and workspace not in (known := await self._workspaces()):
            msg = f"workspace {workspace}; known here: {', '.join(known) or 'none'}"
            raise NotFound(msg)
        await PostgresHalts(self._database).halt(workspace or EVERYTHING, actor=by)
        return await self.halts()

    async def resume(self, workspace: str | None, by: str) -> Mapping[str, Any]:  # noqa: ARG002  # the service logs it
        """End a halt."""
        await PostgresHalts(self._database).resume(workspace or EVERYTHING)
        return await self.halts()

    async def _shown(self, workspace: str, investigation_id: str) -> Mapping[str, Any]:
        return shown(await PostgresInvestigations(self._database, workspace).get(investigation_id))

    async def _workspace_of(self, investigation_id: str) -> str:
        return (await following.find(self._database, investigation_id)).workspace

    async def _only_workspace(self) -> str:
        names = await self._workspaces()
        if len(names) > 1:
            msg = f"--workspace: name one of {', '.join(names)}"
            raise ConfigurationError(msg)
        return names[0] if names else "default"

    async def _workspaces(self) -> list[str]:
        return [str(row.workspace) for row in await self._database.rows(_WORKSPACES, {})]


class AtService:
    """A running Inquest, by its API alone."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def page(self, asked: ListAsked) -> Mapping[str, Any]:
        """List."""
        now = datetime.now(UTC)
        given = {
            "workspace": asked.workspace, "status": asked.statuses, "severity": asked.severities,
            "verdict": asked.verdict, "service": asked.service, "alert": asked.alert,
            "since": _typed("--since", asked.since, now), "until": _typed("--until", asked.until, now),
            "limit": asked.limit, "cursor": asked.cursor,
        }  # fmt: skip
        params = {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in given.items() if value
        }
        return await self._service.act("GET", INVESTIGATIONS, ("investigations", "next"), params=params)

    async def one(self, investigation_id: str) -> Mapping[str, Any]:
        """Read one."""
        return await self._service.act("GET", f"{INVESTIGATIONS}/{investigation_id}", ("id", "status"))

    async def answer(self, investigation_id: str, interrupt_id: str, text: str) -> Mapping[str, Any]:
        """Answer what one asks; give it."""
        path = f"{INVESTIGATIONS}/{investigation_id}/answer"
        given = {"interrupt_id": interrupt_id, "answer": text}
        return await self._service.act("POST", path, ("id", "status"), json=given)

    async def cancel(self, investigation_id: str) -> Mapping[str, Any]:
        """End one; give it."""
        return await self._service.act("POST", f"{INVESTIGATIONS}/{investigation_id}/cancel", ("id", "status"))

    async def rerun(self, investigation_id: str, key: str | None) -> Mapping[str, Any]:
        """Open another of the same episode; give that."""
        headers = {} if key is None else {"Idempotency-Key": key}
        path = f"{INVESTIGATIONS}/{investigation_id}/rerun"
        return await self._service.act("POST", path, ("id", "status"), headers=headers)

    async def delete(self, investigation_id: str) -> Mapping[str, Any]:
        """Delete one; give what stays."""
        return await self._service.act("DELETE", f"{INVESTIGATIONS}/{investigation_id}", ("state", "stays", "note"))

    async def halts(self) -> Mapping[str, Any]:
        """Give what is halted."""
        return await self._service.act("GET", "/v1/halts", ("halts",))

    async def halt(self, workspace: str | None, by: str) -> Mapping[str, Any]:
        """Halt."""
        return await self._service.act("POST", "/v1/halt", ("halts",), params=_halted(workspace, by))

    async def resume(self, workspace: str | None, by: str) -> Mapping[str, Any]:
        """End a halt."""
        return await self._service.act("POST", "/v1/resume", ("halts",), params=_halted(workspace, by))


def _halted(workspace: str | None, by: str) -> Mapping[str, str]:
    return {"by": by, **({} if workspace is None else {"workspace": workspace})}


def filters_of(asked: ListAsked, now: datetime) -> Filters:
    """Give the store's filters. Raises ConfigurationError naming the option that cannot be meant."""
    return Filters(
        statuses=tuple(Status(one) for one in asked.statuses) or None,
        severity_ranks=tuple(severity_rank(one) for one in asked.severities) or None,
        verdict=asked.verdict,
        service=asked.service,
        alert=asked.alert,
        since=_typed("--since", asked.since, now),
        until=_typed("--until", asked.until, now),
    )


def _typed(option: str, text: str | None, now: datetime) -> datetime | None:
    return None if text is None else moment_of(text, now=now, option=option)
