"""Reading from the service at INQUEST_URL what a command else reads from the database: a bundle, a report."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from inquest.bundles.archive import MAX_BUNDLE_BYTES, begins_like_one
from inquest.destinations.shared.sheet import Sheet
from inquest.destinations.verification import read_sheet
from inquest.entrypoints.cli.remote import ForeignAnswer, Service
from inquest.errors import NotFound, WrongStatus

BUNDLE_TIMEOUT_S = 120.0
"""Until the next bytes come: before the first the service rebuilds the investigation."""


class Download(NamedTuple):
    """Bytes that are still to come, and how many."""

    total: int
    pieces: AsyncIterator[bytes]


@asynccontextmanager
async def bundle_at(service: Service, investigation: str) -> AsyncIterator[Download]:
    """Give the bundle of an investigation. Raises as `Service.opened`, naming it."""
    try:
        async with service.opened(f"/v1/investigations/{investigation}/bundle", timeout_s=BUNDLE_TIMEOUT_S) as answer:
            announced = answer.headers.get("Content-Length", "")
            total = int(announced) if announced.isascii() and announced.isdecimal() else 0
            if not 0 < total <= MAX_BUNDLE_BYTES:
                msg = "INQUEST_URL: what comes is no bundle"
                raise ForeignAnswer(msg)
            yield Download(total, _checked(answer.aiter_bytes(), total))
    except NotFound as missing:
        msg = f"investigation {investigation}"
        raise NotFound(msg) from missing
    except WrongStatus as early:
        msg = f"{investigation} has not ended: the service gives its bundle once it has"
        raise WrongStatus(msg) from early


async def _checked(pieces: AsyncIterator[bytes], total: int) -> AsyncIterator[bytes]:
    """Give the pieces. Raises ForeignAnswer for what is no bundle, or another number of bytes."""
    came, head = 0, b""
    async for piece in pieces:
        if came < len(_LONGEST_HEAD):
            head = (head + piece)[: len(_LONGEST_HEAD)]
        came += len(piece)
        if came > total:
            break
        yield piece
    if came != total or not begins_like_one(head):
        msg = "INQUEST_URL: what came is no bundle, or not all of it"
        raise ForeignAnswer(msg)


_LONGEST_HEAD = bytes(512)


async def sheet_from(service: Service, investigation: str) -> Sheet:
    """Read a report. Raises NotFound where there is none, ForeignAnswer for what this release cannot read."""
    try:
        raw = await service.get(f"/v1/investigations/{investigation}/report", form="json")
    except NotFound as missing:
        msg = f"report of {investigation}: it is not there, has not ended, or was noise"
        raise NotFound(msg) from missing
    sheet = read_sheet(raw)
    if sheet is None:
        msg = "INQUEST_URL: the service writes reports that this release does not know; use the service's own release"
        raise ForeignAnswer(msg)
    return sheet
