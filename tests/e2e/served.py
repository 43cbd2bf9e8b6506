"""A fake as a real HTTP server beside a test that blocks: in a thread of its own, with a loop of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from tests.fakes.loopback import Handler, loopback


@contextmanager
def served(handler: Handler, *, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve `handler` for the length of a `with`, and give its URL. It is called in the server's thread."""
    loop, end, url = asyncio.new_event_loop(), asyncio.Event(), Future[str]()

    async def serve() -> None:
        async with loopback(handler, tls=tls) as server:
            url.set_result(server.url)
            await end.wait()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        except Exception as error:
            if not url.done():
                url.set_exception(error)
            raise
        finally:
            loop.close()

    thread = threading.Thread(target=run, name=f"serves {handler!r}")
    thread.start()
    try:
        yield url.result()
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(end.set)
        thread.join()
