"""An investigation as one file, streamed: at most a few at a time, and none of them for ever."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from inquest.bundles.writing import Plan
from inquest.entrypoints.http import examples, problems
from inquest.entrypoints.http.readers import ID, Reader, named_by
from inquest.errors import NotFound, StoreUnavailable
from inquest.telemetry import log

MEDIA_TYPE = "application/x-tar"
MAX_AT_ONCE = 2
"""Of one process: what is planned of a bundle, its report and its journal, is held until the last byte is sent."""
MAX_EXPORT_S = 1_800.0
"""For a reader who takes the bytes slowly: then the connection is closed."""


class Exports:
    """How many bundles are under way."""

    def __init__(self) -> None:
        self.under_way = 0

    @property
    def are_full(self) -> bool:
        """Say whether one more is refused."""
        return self.under_way >= MAX_AT_ONCE


def exports_router(readers: Mapping[str, Reader], *, operator: Callable[..., None]) -> APIRouter:
    """Give the route of a bundle."""
    router = APIRouter(
        prefix="/v1/investigations",
        tags=["investigations"],
        dependencies=[Depends(operator)],
        responses=examples.REFUSALS,
    )
    Read = Annotated[Reader, Depends(named_by(readers))]  # noqa: N806  # a type
    exports = Exports()

    @router.get(
        "/{investigation_id}/bundle",
        response_class=Response,
        summary="Read all of it, once it has ended: a file that can be verified offline",
        responses={**examples.BUNDLE, **examples.WRONG_STATUS},
    )
    async def bundle(read: Read, investigation_id: ID) -> Response:
        if exports.are_full:
            return too_many()
        await read.investigations.get(investigation_id)
        exports.under_way += 1  # planning takes as much as sending
        try:
            planned = await read.exporting.plan(read.workspace, investigation_id)
        finally:
            exports.under_way -= 1
        return BundleAnswer(investigation_id, planned, read.exporting.pieces(read.workspace, planned), exports)

    return router


def too_many() -> Response:
    """Refuse one export more."""
    return problems.answer(503, "overloaded", f"{MAX_AT_ONCE} exports are under way: ask again later")


class BundleAnswer(Response):
    """The bytes of a bundle, of which the reader knows the number: an answer that breaks off is seen to be none."""

    media_type = MEDIA_TYPE

    def __init__(self, name: str, planned: Plan, pieces: AsyncIterator[bytes], exports: Exports) -> None:
        headers = {
            "Content-Length": str(planned.total_bytes),
            "Content-Disposition": f'attachment; filename="{name}.tar"',
            "X-Content-Type-Options": "nosniff",
        }
        super().__init__(headers=headers)
        self._name = name
        self._pieces = pieces
        self._exports = exports

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the bytes, unless too many others are under way.

        What cannot be sent to its end is cut off: the connection closes behind fewer bytes than were promised.
        """
        if self._exports.are_full:
            await too_many()(scope, receive, send)
            return
        self._exports.under_way += 1
        leaving = asyncio.ensure_future(_left(receive))
        sending = asyncio.ensure_future(self._send(send))
        try:
            await asyncio.wait({leaving, sending}, timeout=MAX_EXPORT_S, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
            elif not leaving.done():
                log().warning("export_cut_off", investigation=self._name, after_s=MAX_EXPORT_S)
        except (NotFound, StoreUnavailable) as error:  # deleted meanwhile, or the database went away
            log().warning("export_cut_off", investigation=self._name, error=type(error).__name__)
        finally:
            self._exports.under_way -= 1
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(leaving, sending, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self._pieces) as pieces:  # type: ignore[type-var]  # an async generator is one that closes
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
