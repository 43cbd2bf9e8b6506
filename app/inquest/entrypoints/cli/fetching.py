"""A bundle from the service at INQUEST_URL, in a file for as long as it is looked at."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inquest.bundles.reading import open_bundle
from inquest.entrypoints.cli.exporting import poured
from inquest.entrypoints.cli.remote import ForeignAnswer, connected
from inquest.entrypoints.cli.remote_reading import bundle_at
from inquest.errors import BadBundle
from inquest.settings import Settings


@contextmanager
def fetched(settings: Settings, investigation: str) -> Iterator[Path]:
    """Give the bundle of an investigation. What is wrong with it is for whoever reads it to say.

    Raises as `bundle_at`, and ForeignAnswer for the bundle of another investigation.
    """
    with tempfile.TemporaryDirectory(prefix="inquest-bundle-") as folder:
        path = Path(folder) / f"{investigation}.tar"
        asyncio.run(_fetch(settings, investigation, path))
        _check_subject(path, investigation)
        yield path


async def _fetch(settings: Settings, investigation: str, path: Path) -> None:
    async with connected(settings) as service, bundle_at(service, investigation) as download:
        with path.open("wb") as opened:  # a file of our own; nothing else runs meanwhile
            await poured(download.pieces, opened, total=download.total, doing="fetching")


def _check_subject(path: Path, investigation: str) -> None:
    with suppress(BadBundle), open_bundle(path) as bundle:
        if bundle.manifest.investigation_id != investigation:
            msg = "INQUEST_URL: what came is the bundle of another investigation"
            raise ForeignAnswer(msg)
