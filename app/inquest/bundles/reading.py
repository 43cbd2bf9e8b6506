"""Opening a bundle: its archive, its manifest and every digest are checked before anything of it is used.

Files are read when they are looked at; of the contents at most one is held.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from typing_extensions import override

from inquest.bundles.archive import BLOCK, Member, begins_like_one, members
from inquest.bundles.contents import (
    CONTENT,
    EFFECTS,
    EVENTS,
    INTAKE,
    MANIFEST,
    PROJECTION,
    REPORT,
    BundleManifest,
    IntakeFacts,
    chronicle_of,
    content_digest,
    read_value,
)
from inquest.domain.budget import MAX_CONTENT_BYTES
from inquest.errors import BadBundle
from inquest.ports import Chronicle

MAX_FILE_BYTES = 128 * 1024 * 1024
"""Of each file that is not a content: the journal of the longest investigation is a fraction of it."""
_CHUNK_BYTES = 1024 * 1024
_OURS = frozenset({EFFECTS, EVENTS, INTAKE})


class Contents(Mapping[str, bytes]):
    """The contents of a bundle by digest, read from the file each time."""

    def __init__(self, opened: BinaryIO, members: Mapping[str, Member]) -> None:
        self._opened = opened
        self._members = {content_digest(name): one for name, one in members.items() if name.startswith(CONTENT)}

    @override
    def __getitem__(self, digest: str) -> bytes:
        return _read(self._opened, self._members[digest])

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    @override
    def __len__(self) -> int:
        return len(self._members)


@dataclass(frozen=True)
class Bundle:
    """A bundle whose every byte has the digest that its manifest says. Usable while its file is open."""

    manifest: BundleManifest
    chronicle: Chronicle
    intake: IntakeFacts
    projection: bytes | None
    report: Mapping[str, bytes]
    contents: Contents


def is_bundle(path: Path) -> bool:
    """Say whether the file at `path` is meant to be a bundle."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as opened:
            return begins_like_one(opened.read(BLOCK)) or path.suffix == ".tar"
    except OSError:
        return False


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Open the bundle at `path`. Raises BadBundle with the first thing that is not as it was written."""
    try:
        opened = path.open("rb")
    except OSError as error:
        raise BadBundle(f"{path}: cannot be read ({error.strerror})") from error
    with opened:
        yield _opened(opened, path.stat().st_size)


def _opened(opened: BinaryIO, size: int) -> Bundle:
    found = {member.name: member for member in members(opened, size)}
    for member in found.values():
        cap = MAX_CONTENT_BYTES if member.name.startswith(CONTENT) else MAX_FILE_BYTES
        if member.size > cap:
            raise BadBundle(f"{member.name}: is larger than {cap} bytes")
    if MANIFEST not in found:
        raise BadBundle(f"{MANIFEST}: missing")
    manifest = read_value(BundleManifest, _read(opened, found.pop(MANIFEST)), MANIFEST)
    _check_files(opened, manifest, found)
    files = {name: _read(opened, member) for name, member in found.items() if not name.startswith(CONTENT)}
    return Bundle(
        manifest=manifest,
        chronicle=chronicle_of(manifest.investigation_id, files[EVENTS], files[EFFECTS]),
        intake=read_value(IntakeFacts, files[INTAKE], INTAKE),
        projection=files.get(PROJECTION),
        report={name.removeprefix(REPORT): raw for name, raw in files.items() if name.startswith(REPORT)},
        contents=Contents(opened, found),
    )


def _check_files(opened: BinaryIO, manifest: BundleManifest, found: Mapping[str, Member]) -> None:
    for name in sorted((manifest.files.keys() | _OURS) - found.keys()):
        raise BadBundle(f"{name}: missing")
    for name in sorted(found.keys() - manifest.files.keys()):
        raise BadBundle(f"{name}: not in the manifest")
    for name, member in found.items():
        entry = manifest.files[name]
        if entry.size != member.size or entry.digest != _digest(opened, member):
            raise BadBundle(f"{name}: changed since it was written")
        if name.startswith(CONTENT) and entry.digest != content_digest(name):
            raise BadBundle(f"{name}: does not have the digest of its name")


def _digest(opened: BinaryIO, member: Member) -> str:
    opened.seek(member.offset)
    left, found = member.size, hashlib.sha256()
    while left:
        piece = opened.read(min(left, _CHUNK_BYTES))
        if not piece:
            raise BadBundle(f"{member.name}: the file got shorter while it was read")
        found.update(piece)
        left -= len(piece)
    return f"sha256:{found.hexdigest()}"


def _read(opened: BinaryIO, member: Member) -> bytes:
    opened.seek(member.offset)
    raw = opened.read(member.size)
    if len(raw) != member.size:
        raise BadBundle(f"{member.name}: the file got shorter while it was read")
    return raw
