"""investigate through a running service (INQUEST_URL): post as a sender does, follow and read through the API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import typer

from inquest.domain.event import Event
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.showing import terminal_markdown
from inquest.errors import ConfigurationError, NotFound, StoreUnavailable
from inquest.settings import Settings, operator_token

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class AtService:
    """Follow through the API."""

    client: httpx2.AsyncClient
    investigation_id: str

    async def row(self) -> Mapping[str, Any]:
        """Give it as the API shows it."""
        return dict((await self._get("")).json())

    async def events(self, after: int) -> tuple[Event, ...]:
        """Give its events with a seq above `after`."""
        found = (await self._get("/events", after=after)).json()["events"]
        return tuple(Event.parse(json.dumps(event)) for event in found)

    async def report(self) -> str:
        """Give its report as Markdown."""
        return (await self._get("/report", form="md")).text

    async def _get(self, path: str, **params: str | int) -> httpx2.Response:
        return _checked(await _sent(self.client, "GET", f"/v1/investigations/{self.investigation_id}{path}", params))


async def investigate_remotely(
    settings: Settings, raw: bytes, intake: str | None, *, follow: bool, as_json: bool
) -> int:
    """Post `raw` to the service at INQUEST_URL and follow what it opens. Raises ConfigurationError, NotFound."""
    token = operator_token(settings)
    headers = {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}
    async with httpx2.AsyncClient(
        base_url=settings.url or "", headers=headers, timeout=TIMEOUT_S, trust_env=False
    ) as client:
        watched = AtService(client, await _post(client, settings, raw, intake))
        ended = await following.follow(watched, following.sayer(follow=follow, as_json=as_json))
        if as_json:
            typer.echo(json.dumps({**ended.row, "degraded": ended.degraded}))
        else:
            try:
                typer.echo(terminal_markdown((await watched.report()).encode()))
            except NotFound:
                typer.echo(f"{ended.id} ended as {ended.row['status']}, without a report")
    return ended.exit


async def _post(client: httpx2.AsyncClient, settings: Settings, raw: bytes, intake: str | None) -> str:
    headers = {"Content-Type": "application/json"}
    if settings.intake_token is not None:
        headers["Authorization"] = f"Bearer {settings.intake_token.get_secret_value()}"
    try:
        answer = await client.post(f"/v1/alerts/{intake or 'alertmanager'}", content=raw, headers=headers)
    except httpx2.TransportError as error:
        msg = "INQUEST_URL: the service cannot be reached there"
        raise ConfigurationError(msg) from error
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        msg = "INQUEST_INTAKE_TOKEN: the intake does not take it"
        raise ConfigurationError(msg)
    found = _checked(answer).json()
    if not found.get("investigations"):
        words = ", ".join(f"{count} {word}" for word, count in found.get("counts", {}).items()) or "no alerts"
        msg = f"the body opens no investigation: {words}"
        raise ConfigurationError(msg)
    return str(found["investigations"][0]["investigation_id"])


async def _sent(client: httpx2.AsyncClient, method: str, path: str, params: Mapping[str, str | int]) -> httpx2.Response:
    try:
        return await client.request(method, path, params=dict(params))
    except httpx2.TransportError as error:
        msg = "the service does not answer"
        raise StoreUnavailable(msg) from error


def _checked(answer: httpx2.Response) -> httpx2.Response:
    """Give an answer that is one. Raises what its status says."""
    if answer.is_success:
        return answer
    if answer.status_code == httpx2.codes.NOT_FOUND:
        msg = "the service has no such thing"
        raise NotFound(msg)
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        msg = "INQUEST_OPERATOR_TOKEN: the service does not take it"
        raise ConfigurationError(msg)
    if answer.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR:
        msg = f"the service answers {answer.status_code}"
        raise StoreUnavailable(msg)
    msg = f"the service answers {answer.status_code}"
    raise ConfigurationError(msg)
