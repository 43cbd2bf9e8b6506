"""Following one investigation through a running service: its journal as a stream, taken up again where it broke off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from pydantic import ValidationError

from inquest.domain.event import Event
from inquest.entrypoints.cli.follow import ENDED, LOOKED_AT
from inquest.entrypoints.cli.remote import MAX_ANSWER_BYTES, NOT_OURS, ForeignAnswer, Service
from inquest.errors import InquestError, NotFound

IDLE_S = 45.0
"""Three heartbeats of the service: a stream that is silent for so long has broken."""
WAIT_S = 1.0
"""For the next event: then whoever follows hears that there is none yet."""
ROW_STAYS_S = 2.0
"""What is looked at beside the stream changes seldom before its end: a wait for a worker, or for a moment."""
MEDIA_TYPE = "text/event-stream"


@asynccontextmanager
async def watched_at(service: Service, investigation_id: str) -> AsyncIterator[AtService]:
    """Give an investigation of the service to follow; its stream is closed at the end."""
    watched = AtService(service, investigation_id)
    try:
        yield watched
    finally:
        await watched.aclose()


class AtService:
    """`follow.Watched` through the API."""

    def __init__(self, service: Service, investigation_id: str) -> None:
        self._service = service
        self._id = investigation_id
        self._path = f"/v1/investigations/{investigation_id}"
        self._row: Mapping[str, Any] | None = None
        self._row_until = 0.0
        self._stream: AsyncGenerator[Event, None] | None = None
        self._coming: asyncio.Future[Event | None] | None = None
        self._gave = False

    async def row(self) -> Mapping[str, Any]:
        """Give it as the API shows it, or showed it a moment ago."""
        if self._row is None or time.monotonic() >= self._row_until:
            self._row, self._row_until = await self._look(), time.monotonic() + ROW_STAYS_S
        return self._row

    async def _look(self) -> Mapping[str, Any]:
        try:
            found = await self._service.json(self._path)
        except NotFound as missing:
            msg = f"investigation {self._id}"
            raise NotFound(msg) from missing
        if not isinstance(found, dict) or not found.keys() >= LOOKED_AT:
            raise ForeignAnswer(NOT_OURS)
        return found

    async def events(self, after: int) -> tuple[Event, ...]:
        """Give the next event behind `after`, or () when none comes for a moment.

        Of one that has ended () means that there are no more: the stream says so, however long that takes.
        """
        patience_s = None if self._row is not None and self._row["status"] in ENDED else WAIT_S
        while True:
            if self._coming is None:
                self._stream = self._stream or _streamed(self._service, f"{self._path}/events", after)
                self._coming = asyncio.ensure_future(anext(self._stream, None))
            await asyncio.wait({self._coming}, timeout=patience_s)
            if not self._coming.done():
                return ()
            coming, self._coming = self._coming, None
            try:
                event = coming.result()
            except InquestError:
                self._stream, self._gave = None, False
                raise
            if event is not None:
                self._gave = True
                return (event,)
            gave, self._stream, self._gave, self._row = self._gave, None, False, None
            if not gave:
                return ()  # not even behind the last event of an earlier stream: that one was the end

    async def report(self) -> bytes:
        """Give its report as Markdown. Raises NotFound where there is none."""
        return await self._service.get(f"{self._path}/report", form="md")

    async def aclose(self) -> None:
        """Read no more."""
        if self._coming is not None:
            self._coming.cancel()
            await asyncio.gather(self._coming, return_exceptions=True)
        if self._stream is not None:
            await self._stream.aclose()


async def _streamed(service: Service, path: str, after: int) -> AsyncGenerator[Event, None]:
    """Give the events of a stream behind `after` until it ends. Raises as `Service.opened`, and ForeignAnswer."""
    headers = {"Accept": MEDIA_TYPE, "Last-Event-ID": str(after)}
    async with service.opened(path, timeout_s=IDLE_S, headers=headers) as answer:
        if answer.status_code == NOTHING_MORE:
            return
        if not answer.headers.get("Content-Type", "").startswith(MEDIA_TYPE):
            raise ForeignAnswer(NOT_OURS)
        async with aclosing(_texts(answer.aiter_bytes())) as texts:
            async for text in texts:
                yield _event(text)


NOTHING_MORE = 204
"""What the service says behind the last event of a journal that has ended."""


async def _texts(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Give the data of each event: the service writes it in one line. Raises ForeignAnswer for one without end."""
    held = bytearray()
    async for piece in pieces:
        held += piece
        if len(held) > MAX_ANSWER_BYTES:
            msg = f"INQUEST_URL: an event is larger than {MAX_ANSWER_BYTES} bytes"
            raise ForeignAnswer(msg)
        if b"\n" not in piece:
            continue
        *lines, rest = held.split(b"\n")
        for line in lines:
            if line.startswith(_DATA):
                yield bytes(line[len(_DATA) :]).rstrip(b"\r")
        held = bytearray(rest)


_DATA = b"data: "


def _event(text: bytes) -> Event:
    try:
        return Event.parse(text)
    except (ValidationError, RecursionError) as error:
        msg = "INQUEST_URL: the service records what this release does not know; use the service's own release"
        raise ForeignAnswer(msg) from error
