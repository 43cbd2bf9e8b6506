"""The outermost layer of ours: headers that every answer has, and the answer to what nobody expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

from inquest.entrypoints.http.problems import unexpected

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

EVERY_ANSWER = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class Outermost:
    """Plain ASGI, so that a body is read, and a client's leaving noticed, where it happens."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. An exception becomes a 500 while nothing is sent; after that the connection is cut."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                headers = MutableHeaders(scope=message)
                for name, value in EVERY_ANSWER.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            answer = unexpected(error)
            if began:
                raise
            await answer(scope, receive, sending)
