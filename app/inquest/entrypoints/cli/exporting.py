"""export: an ended investigation as one file, or the draft of its postmortem."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import typer

from inquest.bootstrap.exporting import Exporting
from inquest.bootstrap.home import installation_key
from inquest.bootstrap.reporting import Reporting
from inquest.bundles.postmortem import postmortem_of
from inquest.destinations.verification import read_sheet
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.line import say_now
from inquest.entrypoints.cli.placing import check_free, placed
from inquest.entrypoints.cli.remote import connected
from inquest.entrypoints.cli.remote_reading import bundle_at, sheet_from
from inquest.entrypoints.cli.store_access import with_database
from inquest.errors import InvariantBroken, NotFound
from inquest.settings import Settings
from inquest.store.database import Database

LARGE_BYTES = 32 * 1024 * 1024
"""Of a larger bundle the progress is told, each time that so much more is written."""


class Written(NamedTuple):
    """A file as it was written."""

    size: int
    digest: str


@dataclass(frozen=True)
class _Asked:
    """What is to be written where."""

    investigation: str
    path: Path
    postmortem: bool
    force: bool

    async def place(self, raw: bytes) -> Written:
        """Write it whole."""
        with placed(self.path, force=self.force) as opened:
            return await poured(_once(raw), opened, total=len(raw))


def export(
    settings: Settings, investigation: str, output: Path | None, *, postmortem: bool, force: bool, as_json: bool
) -> int:
    """Write the file and say where it lies. Nothing is left where it cannot be written whole."""
    name = checked_id(investigation)
    path = output or Path(f"{name}{'.md' if postmortem else '.tar'}")
    check_free(path, force=force)

    asked = _Asked(investigation=name, path=path, postmortem=postmortem, force=force)
    if settings.url is not None:
        written = asyncio.run(_from_service(settings, asked))
    else:
        written = with_database(settings, lambda database: _from_database(settings, database, asked))
    if as_json:
        typer.echo(json.dumps({"id": name, "file": str(path), "bytes": written.size, "sha256": written.digest}))
    else:
        typer.echo(f"{path}: {written.size} bytes, sha256 {written.digest}")
    return Exit.ANSWERED


async def _from_database(settings: Settings, database: Database, asked: _Asked) -> Written:
    workspace = (await following.find(database, asked.investigation)).workspace
    if asked.postmortem:
        return await asked.place(await _postmortem(database, workspace, asked.investigation))
    exporting = Exporting(database, installation_key(settings))
    planned = await exporting.plan(workspace, asked.investigation)
    with placed(asked.path, force=asked.force) as opened:
        return await poured(exporting.pieces(workspace, planned), opened, total=planned.total_bytes)


async def _from_service(settings: Settings, asked: _Asked) -> Written:
    """Read from the service at INQUEST_URL; a draft from there has no small charts: the contents stay there."""
    async with connected(settings) as service:
        if asked.postmortem:
            return await asked.place(postmortem_of((await sheet_from(service, asked.investigation)).report, {}))
        async with bundle_at(service, asked.investigation) as download:
            with placed(asked.path, force=asked.force) as opened:
                return await poured(download.pieces, opened, total=download.total)


async def poured(pieces: AsyncIterator[bytes], opened: BinaryIO, *, total: int, doing: str = "exporting") -> Written:
    """Write the pieces one after another, and say on standard error how far a large file has got."""
    size, told, digest = 0, 0, hashlib.sha256()
    async for piece in pieces:
        opened.write(piece)
        digest.update(piece)
        size += len(piece)
        if size - told >= LARGE_BYTES and size < total:
            told = size
            say_now(doing, f"{size} of {total} bytes", aside=True)
    return Written(size, digest.hexdigest())


async def _once(raw: bytes) -> AsyncIterator[bytes]:
    yield raw


async def _postmortem(database: Database, workspace: str, investigation: str) -> bytes:
    """Write the draft. Raises NotFound where there is no report."""
    reporting = Reporting(database)
    try:
        sheet = read_sheet(await reporting.form(workspace, investigation, "json"))
    except NotFound as missing:
        msg = f"{missing}: it has not ended, or was noise"
        raise NotFound(msg) from missing
    if sheet is None:
        msg = "our own report cannot be read back"
        raise InvariantBroken(msg)
    return postmortem_of(sheet.report, await reporting.evidence(workspace, sheet.report))
