"""A running service (INQUEST_URL), asked over its API: every answer bounded, every refusal an error of ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import httpx2

from inquest.destinations.shared.escape import plain
from inquest.errors import (
    ConfigurationError,
    Gone,
    InquestError,
    NotFound,
    ReplayMismatch,
    RoleMissing,
    StoreUnavailable,
    WrongStatus,
)
from inquest.settings import Settings, operator_token

TIMEOUT_S = 10.0
"""Until an answer begins, and between its bytes."""
ANSWER_S = 60.0
"""For the whole of an answer, however it drips. Streams and bundles have bounds of their own."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_REFUSAL_BYTES = 64 * 1024
REFUSED: Mapping[int, type[InquestError]] = {
    404: NotFound, 409: WrongStatus, 410: Gone, 422: ConfigurationError, 501: RoleMissing,
}  # fmt: skip
"""What the service says no with, as the same error of this process."""
NOT_OURS = "INQUEST_URL: what answers there is no Inquest"


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
            raise NotFound(path)
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
        found = _read_json(_good(status, body))
        if not isinstance(found, dict) or not found.keys() >= set(shape):
            raise ForeignAnswer(NOT_OURS)
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
    async def opened(
        self,
        path: str,
        *,
        timeout_s: float,
        **request: Any,  # noqa: ANN401  # httpx2's own
    ) -> AsyncIterator[httpx2.Response]:
        """Give an answer that is one, its body not yet read; `timeout_s` bounds the wait for its next bytes.

        Raises as `act`, and StoreUnavailable too where it breaks off.
        """
        try:
            async with self._client.stream("GET", path, timeout=timeout_s, **request) as answer:
                if not answer.is_success:
                    raise _refusal(answer.status_code, await _head(answer))
                yield answer
        except httpx2.TransportError as error:
            msg = "the service does not answer, or broke off"
            raise StoreUnavailable(msg) from error

    async def _sent(self, method: str, path: str, **request: Any) -> tuple[int, bytes]:  # noqa: ANN401  # httpx2's own
        try:
            async with asyncio.timeout(ANSWER_S), self._client.stream(method, path, **request) as answer:
                return answer.status_code, await _whole(answer)
        except TimeoutError as error:
            msg = f"the service did not answer whole in {ANSWER_S:g} s"
            raise StoreUnavailable(msg) from error


async def _whole(answer: httpx2.Response) -> bytes:
    """Read a body. Raises ForeignAnswer for one above MAX_ANSWER_BYTES."""
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            msg = f"INQUEST_URL: an answer is larger than {MAX_ANSWER_BYTES} bytes"
            raise ForeignAnswer(msg)
    return bytes(body)


async def _head(answer: httpx2.Response) -> bytes:
    """Read what there is of a refusal's body in a moment: ours are small, and a stranger's says nothing to us."""
    body = bytearray()
    with suppress(TimeoutError):
        async with asyncio.timeout(TIMEOUT_S):
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MAX_REFUSAL_BYTES:
                    break
    return bytes(body)


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Service]:
    """Give the service at INQUEST_URL, asked with the operator's token where there is one."""
    token = operator_token(settings)
    headers = {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}
    async with httpx2.AsyncClient(
        base_url=settings.url or "", headers=headers, timeout=TIMEOUT_S, trust_env=False
    ) as client:
        yield Service(client)


def _good(status: int, body: bytes) -> bytes:
    """Give the body of an answer that is one. Raises what it was refused with."""
    if httpx2.codes.is_success(status):
        return body
    raise _refusal(status, body)


def _refusal(status: int, body: bytes) -> InquestError:
    """Give a refusal as the same error of this process, in the service's words where they are ours."""
    said = _said(body)
    words = said.message or f"the service answers {status}"
    if status in REFUSED:
        return REFUSED[status](words)
    if status == httpx2.codes.UNAUTHORIZED:
        return ConfigurationError("INQUEST_OPERATOR_TOKEN: the service does not take it")
    if said.code == "broken_journal":
        return ReplayMismatch(words)
    if status >= httpx2.codes.INTERNAL_SERVER_ERROR:
        return StoreUnavailable(f"the service answers {status}")
    return ConfigurationError(f"INQUEST_URL: the service answers {status}")


class _Said(NamedTuple):
    code: str = ""
    message: str = ""


def _said(body: bytes) -> _Said:
    """Read an error of ours, fit for a terminal; empty where it is none."""
    try:
        error = json.loads(body)["error"]
        return _Said(str(error["code"]), plain(str(error["message"])))
    except (ValueError, RecursionError, KeyError, TypeError):
        return _Said()


def _read_json(body: bytes) -> Any:  # noqa: ANN401  # JSON
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ForeignAnswer(NOT_OURS) from error
