"""A journal as server-sent events: each event once, in order, until the end, for whoever reads fast or slowly.

One question to the database, for all streams of the process together, finds what has grown; each stream then reads
its own bounded page, and holds no connection while it writes. A stream that ends before its journal does is taken
up by its client behind the last event that it saw (Last-Event-ID).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from fastapi import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from inquest.domain.event import Event
from inquest.domain.investigation import TERMINAL, Status
from inquest.entrypoints.http import problems
from inquest.errors import NotFound, ReplayMismatch, StoreUnavailable
from inquest.store.event_pages import EventPage
from inquest.telemetry import log, report_error

MAX_STREAMS = 200
"""Of one process; above it a stream is refused with 503. Each holds a connection, and a page while it writes."""
MAX_PAGE_EVENTS = 50
MAX_PAGE_BYTES = 256 * 1024
"""Of event bodies that a stream holds; one event that is larger comes alone."""
HEARTBEAT_S = 15.0
"""Below the idle time of the usual proxies."""
HEARTBEAT = b": still here\n\n"
MAX_STREAM_S = 1_800.0
"""After it a stream ends, and its client takes it up again: what nobody reads any more is not kept for ever."""
LOOK_S = 0.25
LOOK_AGAIN_S = 1.0
"""While the database is away."""
RETRY_MS = 2_000
"""After which a browser takes a stream up again."""
MEDIA_TYPE = "text/event-stream"

Versions = Callable[[Collection[str]], Awaitable[Mapping[str, tuple[int, Status]]]]
ReadPage = Callable[[int], Awaitable[EventPage]]


def frame(event: Event) -> bytes:
    """Write one event. Its JSON has no line break, whatever text it holds."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.body.kind.encode(), event.canonical())


@dataclass(eq=False)
class Watcher:
    """One stream that waits: `after` is what it has sent, `nudge` wakes it."""

    investigation_id: str
    after: int
    nudge: asyncio.Event = field(default_factory=asyncio.Event)


class Streams:
    """All streams of one process."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self._watchers: set[Watcher] = set()
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def are_full(self) -> bool:
        """Say whether no more are taken."""
        return len(self._watchers) >= MAX_STREAMS

    @property
    def are_closed(self) -> bool:
        """Say whether the process is about to end."""
        return self._closed

    def close(self) -> None:
        """End every stream: the process is about to end, and does not wait for what never ends by itself."""
        self._closed = True
        for watcher in self._watchers:
            watcher.nudge.set()

    @contextmanager
    def watching(self, investigation_id: str, after: int) -> Iterator[Watcher]:
        """Give what is woken when the journal grows behind its `after`, or ends."""
        watcher = Watcher(investigation_id, after)
        self._watchers.add(watcher)
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)
            if not self._watchers and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        while True:
            (error,) = await asyncio.gather(self._look_once(), return_exceptions=True)
            if error is not None and not isinstance(error, StoreUnavailable):
                log().error("streams_cannot_look", error=type(error).__name__)
                report_error(error, tags={"where": "http"})
            await asyncio.sleep(LOOK_S if error is None else LOOK_AGAIN_S)

    async def _look_once(self) -> None:
        found = await self._versions({watcher.investigation_id for watcher in self._watchers})
        for watcher in self._watchers:
            version, status = found.get(watcher.investigation_id, (0, Status.DELETING))
            if version > watcher.after or status in TERMINAL:
                watcher.nudge.set()


class EventStream(Response):
    """The answer that is a stream, from `first` on. It ends behind the last event, or when nobody reads any more."""

    media_type = MEDIA_TYPE

    def __init__(self, streams: Streams, investigation_id: str, first: EventPage, read: ReadPage) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no", "Vary": "Accept", "Connection": "close"})
        del self.headers["content-length"]
        self._streams = streams
        self._id = investigation_id
        self._after = first.after
        self._first: EventPage | None = first
        self._read = read

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the stream, unless there are too many."""
        if self._streams.are_full:
            await too_many()(scope, receive, send)
            return
        with self._streams.watching(self._id, self._after) as watcher:
            leaving = asyncio.ensure_future(_left(receive, watcher))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await _write(send, b"retry: %d\n\n" % RETRY_MS)
                await self._pages(watcher, leaving, send)
                if not leaving.done():
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                leaving.cancel()

    async def _pages(self, watcher: Watcher, leaving: asyncio.Future[None], send: Send) -> None:
        page, self._first = self._first, None
        ends_at = time.monotonic() + MAX_STREAM_S
        while page is not None and not leaving.done():
            await _write_all(send, page)
            watcher.after, is_the_end, has_more = page.last, page.is_the_end, page.has_more
            page = None  # what was sent is not held while the stream waits
            if is_the_end or self._streams.are_closed or time.monotonic() >= ends_at:
                return
            if not has_more:
                await self._wait(watcher, send)
            page = await self._next(watcher)

    async def _wait(self, watcher: Watcher, send: Send) -> None:
        """Wait until there may be more, no longer than a heartbeat."""
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                await watcher.nudge.wait()
        except TimeoutError:
            await _write(send, HEARTBEAT)

    async def _next(self, watcher: Watcher) -> EventPage | None:
        """Read on; None when there is nothing to read any more. A database that is away is waited for."""
        watcher.nudge.clear()
        try:
            return await self._read(watcher.after)
        except StoreUnavailable:
            await asyncio.sleep(LOOK_AGAIN_S)
            return EventPage(after=watcher.after, events=(), version=watcher.after, status=Status.RUNNING)
        except (NotFound, ReplayMismatch):  # deleted meanwhile, or broken: the next answer says which
            return None


def too_many() -> Response:
    """Refuse one stream more."""
    refused = problems.answer(503, "overloaded", f"{MAX_STREAMS} streams are open: take it up again later, or poll")
    refused.headers["Connection"] = "close"
    return refused


async def _left(receive: Receive, watcher: Watcher) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    watcher.nudge.set()


async def _write_all(send: Send, page: EventPage) -> None:
    for event in page.events:
        await _write(send, frame(event))


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
