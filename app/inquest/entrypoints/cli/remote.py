"""investigate through a running service (INQUEST_URL): post as a sender does, follow and read through the API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import typer
from pydantic import ValidationError

from inquest.destinations.shared.escape import plain
from inquest.domain.event import Event
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.showing import terminal_markdown, without_report
from inquest.entrypoints.cli.tell import Teller
from inquest.errors import (
    ConfigurationError,
    Gone,
    InquestError,
    NotFound,
    RoleMissing,
    StoreUnavailable,
    WrongStatus,
)
from inquest.settings import Settings, operator_token

TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
USUAL_INTAKE = "alertmanager"
REFUSED: Mapping[int, type[InquestError]] = {
    404: NotFound, 409: WrongStatus, 410: Gone, 422: ConfigurationError, 501: RoleMissing,
}  # fmt: skip
"""What the service says no with, as the same error of this process."""


class ForeignAnswer(InquestError):
    """What answers at INQUEST_URL is no Inquest, or one that this release does not understand."""


class Service:
    """A running Inquest, as its API shows it. Answers are read under a byte cap."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def json(self, path: str, **params: str | int) -> Any:  # noqa: ANN401  # JSON
        """Read JSON. Raises as `get`, and ForeignAnswer for what is none."""
        return _read_json(await self.get(path, **params))

    async def get(self, path: str, **params: str | int) -> bytes:
        """Read the body of an answer. Raises NotFound, StoreUnavailable, ConfigurationError, ForeignAnswer."""
        try:
            status, body = await self._sent("GET", path, params=dict(params))
        except httpx2.TransportError as error:
            msg = "the service does not answer"
            raise StoreUnavailable(msg) from error
        if status == httpx2.codes.NOT_FOUND:
            msg = path
            raise NotFound(msg)
        if status == httpx2.codes.UNAUTHORIZED:
            msg = "INQUEST_OPERATOR_TOKEN: the service does not take it"
            raise ConfigurationError(msg)
        return _good(status, body)

    async def act(
        self,
        method: str,
        path: str,
        shape: Sequence[str],
        **request: Any,  # noqa: ANN401  # httpx2's own
    ) -> Mapping[str, Any]:
        """Send a request and read an object that has the fields `shape`.

        Raises what the service refused with, in its words: NotFound, Gone, WrongStatus, RoleMissing,
        ConfigurationError; and as `get`.
        """
        try:
            status, body = await self._sent(method, path, **request)
        except httpx2.TransportError as error:
            msg = "the service does not answer"
            raise StoreUnavailable(msg) from error
        if status in REFUSED:
            raise REFUSED[status](_words(body) or f"the service answers {status}")
        if status == httpx2.codes.UNAUTHORIZED:
            msg = "INQUEST_OPERATOR_TOKEN: the service does not take it"
            raise ConfigurationError(msg)
        found = _read_json(_good(status, body))
        if not isinstance(found, dict) or not found.keys() >= set(shape):
            raise ForeignAnswer(_NOT_OURS)
        return found

    async def post(self, intake: str, raw: bytes, headers: Mapping[str, str]) -> Any:  # noqa: ANN401  # JSON
        """Post an alert and read what came of it. Raises as `get`; ConfigurationError names what to change."""
        try:
            status, body = await self._sent("POST", f"/v1/alerts/{intake}", content=raw, headers=dict(headers))
        except httpx2.TransportError as error:
            msg = "INQUEST_URL: the service cannot be reached there"
            raise ConfigurationError(msg) from error
        if status == httpx2.codes.NOT_FOUND:
            msg = f"--intake: the service has no intake {intake}"
            raise ConfigurationError(msg)
        if status == httpx2.codes.UNAUTHORIZED:
            msg = "INQUEST_INTAKE_TOKEN: the intake does not take it"
            raise ConfigurationError(msg)
        return _read_json(_good(status, body))

    @asynccontextmanager
    async def opened(self, path: str, *, timeout_s: float) -> AsyncIterator[httpx2.Response]:
        """Give an answer that is one, its body not yet read; `timeout_s` bounds the wait for its next bytes.

        Raises as `act`, without the service's words, and StoreUnavailable too where it breaks off.
        """
        try:
            async with self._client.stream("GET", path, timeout=timeout_s) as answer:
                status = answer.status_code
                if status in REFUSED:
                    raise REFUSED[status](f"the service answers {status}")
                if status == httpx2.codes.UNAUTHORIZED:
                    msg = "INQUEST_OPERATOR_TOKEN: the service does not take it"
                    raise ConfigurationError(msg)
                _good(status, b"")
                yield answer
        except httpx2.TransportError as error:
            msg = "the service does not answer, or broke off"
            raise StoreUnavailable(msg) from error

    async def _sent(self, method: str, path: str, **request: Any) -> tuple[int, bytes]:  # noqa: ANN401  # httpx2's own
        async with self._client.stream(method, path, **request) as answer:
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MAX_ANSWER_BYTES:
                    msg = f"INQUEST_URL: an answer is larger than {MAX_ANSWER_BYTES} bytes"
                    raise ForeignAnswer(msg)
        return answer.status_code, bytes(body)


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Service]:
    """Give the service at INQUEST_URL, asked with the operator's token where there is one."""
    token = operator_token(settings)
    headers = {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}
    async with httpx2.AsyncClient(
        base_url=settings.url or "", headers=headers, timeout=TIMEOUT_S, trust_env=False
    ) as client:
        yield Service(client)


class AtService:
    """Follow through the API."""

    def __init__(self, service: Service, investigation_id: str) -> None:
        self._service = service
        self._path = f"/v1/investigations/{investigation_id}"

    async def row(self) -> Mapping[str, Any]:
        """Give it as the API shows it."""
        found = await self._service.json(self._path)
        if not isinstance(found, dict) or not found.keys() >= following.LOOKED_AT:
            raise ForeignAnswer(_NOT_OURS)
        return found

    async def events(self, after: int) -> tuple[Event, ...]:
        """Give its events with a seq above `after`."""
        found = await self._service.json(f"{self._path}/events", after=after)
        try:
            return tuple(Event.parse(json.dumps(event)) for event in found["events"])
        except (ValidationError, KeyError, TypeError) as error:
            msg = "INQUEST_URL: the service records what this release does not know; use the service's own release"
            raise ForeignAnswer(msg) from error

    async def report(self) -> bytes:
        """Give its report as Markdown. Raises NotFound where there is none."""
        return await self._service.get(f"{self._path}/report", form="md")


async def investigate_remotely(settings: Settings, given: Given, telling: Teller, *, as_json: bool) -> int:
    """Post the body to the service at INQUEST_URL and follow what it opens. Raises ConfigurationError, NotFound."""
    async with connected(settings) as service:
        watched = AtService(service, await _post(service, settings, given, telling))
        ended = await following.follow(watched, telling)
        if as_json:
            typer.echo(json.dumps(ended.shown))
            return ended.exit
        try:
            typer.echo(terminal_markdown(await watched.report()))
        except NotFound:
            typer.echo(without_report(ended))
    return ended.exit


async def _post(service: Service, settings: Settings, given: Given, telling: Teller) -> str:
    headers = {"Content-Type": "application/json"}
    if settings.intake_token is not None:
        headers["Authorization"] = f"Bearer {settings.intake_token.get_secret_value()}"
    found = await service.post(given.intake or USUAL_INTAKE, given.raw, headers)
    try:
        opened = [str(one["investigation_id"]) for one in found["investigations"]]
        counts = {str(word): int(count) for word, count in found["counts"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForeignAnswer(_NOT_OURS) from error
    if not opened:
        msg = f"{given.name}: opens no investigation: {words_of(counts)}"
        raise ConfigurationError(msg)
    telling.note("accepted", f"{words_of(counts)}: investigation {opened[0]}")
    return opened[0]


_NOT_OURS = "INQUEST_URL: what answers there is no Inquest"


def words_of(counts: Mapping[str, int]) -> str:
    """Say what became of the members of a post: "2 heartbeat, 1 resolved_only"."""
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "it holds no alert"


def _good(status: int, body: bytes) -> bytes:
    """Give the body of an answer that is one. Raises StoreUnavailable for 5xx, ConfigurationError for the rest."""
    if httpx2.codes.is_success(status):
        return body
    if status >= httpx2.codes.INTERNAL_SERVER_ERROR:
        msg = f"the service answers {status}"
        raise StoreUnavailable(msg)
    msg = f"INQUEST_URL: the service answers {status}"
    raise ConfigurationError(msg)


def _words(body: bytes) -> str:
    """Give the message of an error of ours, fit for a terminal; "" where it is none."""
    try:
        return plain(str(json.loads(body)["error"]["message"]))
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""


def _read_json(body: bytes) -> Any:  # noqa: ANN401  # JSON
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ForeignAnswer(_NOT_OURS) from error
