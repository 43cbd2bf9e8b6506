"""POST /v1/alerts/{intake}: the order of design 6, and its status codes, which senders read as policy.

A 2xx is given after the commit and never before. 503 with Retry-After asks for the post again: overload, the
database. 429 is never given, and no redirect: Alertmanager drops the notification on either.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect
from typing_extensions import override

from inquest.crash import CrashPoint, reached
from inquest.domain.alert import Post
from inquest.domain.canonical import digest_of
from inquest.domain.intake import Accepted, Arrival, DailyCeilings, IntakeConfig, ReceiptState
from inquest.domain.value import Value
from inquest.entrypoints.http import bodies, examples, problems
from inquest.entrypoints.http.bodies import Buffers, BuffersFull, SlowBody
from inquest.errors import InquestError, NotFound, StoreUnavailable
from inquest.ports import Ids, Intake
from inquest.runtime.intake import accept
from inquest.runtime.masking import FORMATS_ONLY
from inquest.runtime.presence import Presence
from inquest.sources.shared.source import Headers, Source
from inquest.telemetry import Metrics, log
from inquest.wire.redaction import Redactor

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class DoorLimits(Value):
    """The ceilings of the door, for one process."""

    max_in_flight: int = 64
    """Authenticated posts being read, parsed or committed."""
    max_buffered_bytes: int = 128 * 1024 * 1024
    """Bodies of all of them as sent."""
    max_body_bytes: int = bodies.MAX_BODY_BYTES
    read_timeout_s: float = 10.0
    """For a whole body: Alertmanager itself gives up after 10 s."""
    small_body_bytes: int = 32_768
    """A body over this is parsed in a thread: the worst one of 256 KiB is 0.3 s of work (ADR 0024)."""
    large_body_bytes: int = 262_144
    """A body over this, or a compressed one, waits for a slot to be inflated and parsed in."""
    large_at_once: int = 2
    """Such bodies held in memory at once: each may be 16 MiB, and as much again when parsed."""
    large_wait_s: float = 5.0


@dataclass(frozen=True)
class Door:
    """What the route needs. `ceilings` and `redactors` are by workspace, `intakes` by name."""

    intakes: Mapping[str, IntakeConfig]
    sources: Mapping[str, Source]
    intake: Intake
    ids: Ids
    metrics: Metrics
    ceilings: Mapping[str, DailyCeilings] = field(default_factory=dict)
    redactors: Mapping[str, Redactor] = field(default_factory=dict)
    limits: DoorLimits = field(default_factory=DoorLimits)
    presence: Presence | None = None
    """Of the store behind `intake`."""


class _Taken(Response):
    """The answer to a post that is taken in."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, to the last byte that the server takes."""
        await super().__call__(scope, receive, send)
        reached(CrashPoint.C05)


class _Overloaded(Exception):
    """A ceiling of the door is reached. `reason` is from a closed set: it labels the metric."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def alerts_router(door: Door) -> APIRouter:
    """Give the route. The application it goes into has `redirect_slashes=False`."""
    router = APIRouter(prefix="/v1/alerts", tags=["alerts"], redirect_slashes=False)
    taking = _Taking(door)

    @router.post(
        "/{intake}",  # noqa: FAST003  # declared, it would put a 422 into the document that is never given
        status_code=202,
        summary="Take a sender's post of alerts",
        responses=examples.POSTED,
        openapi_extra=_POST,
    )
    @router.post("/{intake}/", status_code=202, include_in_schema=False)
    async def post_alerts(request: Request) -> Response:
        return await taking.answer(request.path_params["intake"], request)

    return router


_POST = {
    "parameters": [
        {
            "name": "intake",
            "in": "path",
            "required": True,
            "description": "As the configuration names it",
            "schema": {"type": "string", "examples": ["alertmanager"]},
        }
    ],
    "requestBody": {
        "description": "As its sender posts it, of the intake's type; here an Alertmanager's",
        "content": {"application/json": {"schema": {}, "example": examples.POST_BODY}},
    },
}


class _Taking:
    """The door's state: who is inside, and what they hold."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._limits = door.limits
        self._inside = 0
        self._buffers = Buffers(door.limits.max_buffered_bytes)
        self._large = asyncio.Semaphore(door.limits.large_at_once)

    async def answer(self, name: str, request: Request) -> Response:
        """Take one request, and count how it was answered."""
        config = self._door.intakes.get(name)
        if config is None:
            raise NotFound(f"intake {name}")
        try:
            response = await self._take(config, request)
        except InquestError as error:
            self._count(config, next((code for kind, code, _ in problems.STATUS if isinstance(error, kind)), 500))
            raise
        self._count(config, response.status_code)
        return response

    async def _take(self, config: IntakeConfig, request: Request) -> Response:
        source = self._door.sources[config.type]
        headers = _headers(request)
        source.authorize(headers, config.auth)
        try:
            async with self._inside_door():
                reached(CrashPoint.C01)
                with self._buffers.share() as share:
                    raw = await bodies.read_body(
                        request.stream(),
                        share,
                        announced=_announced(headers),
                        cap=self._limits.max_body_bytes,
                        timeout_s=self._limits.read_timeout_s,
                    )
                    reached(CrashPoint.C02)
                    source.verify(headers, raw, config.auth)
                    return await self._accept(config, source, headers, raw, _remote(request))
        except ClientDisconnect:
            return problems.answer(400, "cut_off", "the sender went away in the middle of its body")
        except SlowBody:
            response = problems.answer(
                408, "slow_body", f"the body was not there after {self._limits.read_timeout_s:g} s"
            )
            response.headers["Connection"] = "close"
            return response
        except BuffersFull:
            return self._refuse("buffers_full")
        except _Overloaded as error:
            return self._refuse(error.reason)
        except StoreUnavailable:
            self._door.metrics.backpressure.labels("store_unavailable").inc()
            raise

    async def _accept(
        self, config: IntakeConfig, source: Source, headers: Headers, raw: bytes, remote: str
    ) -> Response:
        """Inflate, parse and commit. What is large stays in one of few slots until it is committed."""
        encoding = bodies.content_encoding(headers.get("content-encoding", ()))
        if not encoding and len(raw) <= self._limits.small_body_bytes:
            return await self._commit(self._arrival(config, source.parse(raw), raw, remote))
        is_large = bool(encoding) or len(raw) > self._limits.large_body_bytes
        async with self._large_slot() if is_large else nullcontext():
            arrival = await asyncio.to_thread(self._read_beside, config, source, raw, encoding, remote)
            return await self._commit(arrival)

    def _read_beside(self, config: IntakeConfig, source: Source, raw: bytes, encoding: str, remote: str) -> Arrival:
        body = bodies.inflate(raw, encoding, self._limits.max_body_bytes) if encoding else raw
        return self._arrival(config, source.parse(body), body, remote)

    def _arrival(self, config: IntakeConfig, post: Post, body: bytes, remote: str) -> Arrival:
        return Arrival(
            intake=config,
            ceilings=self._door.ceilings.get(config.workspace, DailyCeilings()),
            post=post,
            body=body,
            body_digest=digest_of(body),
            remote=remote,
        )

    async def _commit(self, arrival: Arrival) -> Response:
        with self._door.metrics.accept_seconds.time():
            redactor = self._door.redactors.get(arrival.intake.workspace, FORMATS_ONLY)
            accepted = await accept(
                arrival,
                intake=self._door.intake,
                ids=self._door.ids,
                redactor=redactor,
                presence=self._door.presence,
            )
        reached(CrashPoint.C04)
        self._note(arrival, accepted)
        return _Taken(accepted.model_dump_json(exclude={"outcomes"}), status_code=202, media_type="application/json")

    @asynccontextmanager
    async def _inside_door(self) -> AsyncIterator[None]:
        if self._inside >= self._limits.max_in_flight:
            raise _Overloaded("in_flight")
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    @asynccontextmanager
    async def _large_slot(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._limits.large_wait_s):
                await self._large.acquire()
        except TimeoutError as error:
            raise _Overloaded("large_bodies") from error
        try:
            yield
        finally:
            self._large.release()

    def _refuse(self, reason: str) -> Response:
        self._door.metrics.backpressure.labels(reason).inc()
        return problems.answer(503, "overloaded", "more posts than are taken at once: send it again later")

    def _count(self, config: IntakeConfig, code: int) -> None:
        self._door.metrics.posts.labels(config.name, str(code)).inc()

    def _note(self, arrival: Arrival, accepted: Accepted) -> None:
        for word, count in accepted.counts.items():
            self._door.metrics.members.labels(arrival.intake.name, word.value).inc(count)
        if accepted.state is ReceiptState.QUARANTINED:
            # The reason is ours, with no word of the sender's.
            log().warning(
                "post_quarantined",
                intake=arrival.intake.name,
                receipt_id=accepted.receipt_id,
                reason=arrival.post.quarantine,
            )


def _headers(request: Request) -> Headers:
    headers: dict[str, tuple[str, ...]] = {}
    for name, value in request.headers.items():
        headers[name] = (*headers.get(name, ()), value)
    return headers


_MAX_DIGITS = 18
"""More digits than that are too large, whichever they are."""


def _announced(headers: Headers) -> int | None:
    """Give the Content-Length. The server has refused what is no number, or contradicts itself."""
    match headers.get("content-length", ()):
        case (length,) if length.isascii() and length.isdigit():
            return int(length[:_MAX_DIGITS])
        case _:
            return None


def _remote(request: Request) -> str:
    return request.client.host if request.client else ""
