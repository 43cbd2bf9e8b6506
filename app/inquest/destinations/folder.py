"""The folder destination: ROOT/INVESTIGATION/rN, written beside, fsynced, renamed; never edited.

ROOT/INVESTIGATION/latest is a file that names the newest revision. Names come from ids alone, never from an
alert, and no symbolic link below ROOT is followed.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from inquest.crash import CrashPoint, reached
from inquest.destinations.shared.bundle import EVIDENCE, MANIFEST, folder_files, pack, unpack
from inquest.domain.delivery import Address, DeliveryFailed, Sent
from inquest.domain.report import Report
from inquest.domain.value import Value
from inquest.errors import ConfigurationError
from inquest.ports import Signer

TYPE = "folder"
LATEST = "latest"
DIRECTORY_MODE = 0o750
FILE_MODE = 0o640
_MARKER = re.compile(r"^(?P<id>[A-Za-z0-9][A-Za-z0-9_-]{0,63})/r(?P<revision>[1-9][0-9]{0,8})\Z")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FRESH_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAY_PASS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EAGAIN,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOENT,
        errno.ESTALE,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.EINTR,
        errno.ENOMEM,
        errno.EBUSY,
        errno.ETIMEDOUT,
        errno.EEXIST,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENOTEMPTY,
    }
)
"""Errors that pass, by themselves or once somebody has mounted the volume, given us the right to write, or taken away what
stands where a folder of ours belongs: a file, or a link, which is never followed."""


class FolderConfig(Value):
    """`path` is an absolute folder; it is made if its parent exists."""

    path: str = Field(min_length=1)


def create_folder_destination(
    name: str, config: FolderConfig, *, signer: Signer | None, link_hosts: Iterable[str] = ()
) -> FolderDestination:
    """Make the destination. Raises ConfigurationError when the path is relative."""
    root = Path(config.path)
    if not root.is_absolute():
        raise ConfigurationError(f"destinations.{name}.path: {config.path} is relative; give an absolute path")
    return FolderDestination(name, root, signer=signer, link_hosts=frozenset(link_hosts))


class FolderDestination:
    """Writes each revision as a folder of its own. All of its acts may be repeated."""

    type = TYPE

    def __init__(self, name: str, root: Path, *, signer: Signer | None, link_hosts: frozenset[str]) -> None:
        self.name = name
        self._root = root
        self._signer = signer
        self._link_hosts = link_hosts

    def render(
        self,
        report: Report,
        contents: Mapping[str, bytes],
        *,
        guest: bool,  # noqa: ARG002  # no thread
    ) -> bytes | None:
        """Give the archive of the revision's files. That it is in progress is no folder of its own: nothing ended."""
        if report.kind == "progress":
            return None
        return pack(folder_files(report, contents, self._link_hosts, self._signer))

    async def send(self, rendered: bytes, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        """Write the folder that the marker names, unless the same report is already there. No revision edits another."""
        place = _MARKER.match(address.marker)
        if place is None:
            return DeliveryFailed(reason="the marker names no revision", retry=False)
        must_end_at = time.monotonic() + timeout_s
        return await asyncio.to_thread(self._write, unpack(rendered), place["id"], int(place["revision"]), must_end_at)

    async def find(
        self,
        address: Address,
        *,
        timeout_s: float,  # noqa: ARG002  # one look at a local folder
    ) -> Sent | DeliveryFailed | None:
        """Look whether the folder of the marker is there: it appears whole or not at all.

        Whoever wrote it may have died before `latest` named it: it does then.
        """
        place = _MARKER.match(address.marker)
        if place is None:
            return DeliveryFailed(reason="the marker names no revision", retry=False)
        return await asyncio.to_thread(self._look, place["id"], int(place["revision"]))

    def _look(self, investigation: str, revision: int) -> Sent | DeliveryFailed | None:
        try:
            with (
                _opened(self._root, follow=True) as root,
                _opened(investigation, root) as folder,
                _opened(f"r{revision}", folder),
            ):
                _point_latest(revision, folder)
                return Sent(reference=f"{investigation}/r{revision}")
        except FileNotFoundError:
            return None
        except OSError as error:
            return _failed(error)

    def _write(
        self, files: Mapping[str, bytes], investigation: str, revision: int, must_end_at: float
    ) -> Sent | DeliveryFailed:
        done = Sent(reference=f"{investigation}/r{revision}")
        try:
            self._root.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
            with _opened(self._root, follow=True) as root:
                _make(investigation, root)
                with _opened(investigation, root) as folder:
                    if not _is_there(f"r{revision}", folder):
                        _write_beside(files, f"r{revision}", folder, must_end_at)
                    elif not _is_the_same(files[MANIFEST], f"r{revision}", folder):
                        return DeliveryFailed(reason="another report is already there under this revision", retry=False)
                    _point_latest(revision, folder)
        except TimeoutError:
            return DeliveryFailed(reason="the folder could not be written in its time", retry=True)
        except OSError as error:
            return _failed(error)
        return done


@contextmanager
def _opened(name: str | Path, within: int | None = None, *, follow: bool = False) -> Iterator[int]:
    """Open a folder; a link in its last part is followed only for the configured root. Raises OSError."""
    descriptor = os.open(name, _FOLDER if follow else _FOLDER | os.O_NOFOLLOW, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make(name: str, within: int) -> None:
    try:
        os.mkdir(name, DIRECTORY_MODE, dir_fd=within)
    except FileExistsError:
        return
    os.fsync(within)


def _is_there(name: str, within: int) -> bool:
    try:
        found = os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder")
    return True


def _is_the_same(manifest: bytes, name: str, within: int) -> bool:
    """Compare manifests: they hold the digests of all the rest."""
    with _opened(name, within) as folder:
        try:
            descriptor = os.open(MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            return False
        with os.fdopen(descriptor, "rb") as opened:
            return opened.read(len(manifest) + 1) == manifest


def _write_beside(files: Mapping[str, bytes], name: str, within: int, must_end_at: float) -> None:
    """Write a hidden folder, sync it, and rename it into place. What an earlier try left is removed."""
    beside = f".{name}-"
    for left in os.listdir(within):
        if left.startswith(beside):
            shutil.rmtree(left, dir_fd=within)
    beside += secrets.token_hex(8)
    os.mkdir(beside, DIRECTORY_MODE, dir_fd=within)
    with _opened(beside, within) as folder:
        os.mkdir(EVIDENCE, DIRECTORY_MODE, dir_fd=folder)
        with _opened(EVIDENCE, folder) as evidence:
            for path in sorted(files):
                if time.monotonic() > must_end_at:
                    raise TimeoutError
                parent, _, last = path.rpartition("/")
                _write_file(last, files[path], evidence if parent else folder)
            os.fsync(evidence)
        os.fsync(folder)
    reached(CrashPoint.C22)
    os.rename(beside, name, src_dir_fd=within, dst_dir_fd=within)
    os.fsync(within)


def _write_file(name: str, raw: bytes, within: int) -> None:
    descriptor = os.open(name, _FRESH_FILE, FILE_MODE, dir_fd=within)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(raw)
        opened.flush()
        os.fsync(opened.fileno())


def _point_latest(revision: int, within: int) -> None:
    """Let `latest` name the newest revision that is there; an older one that comes late does not move it back."""
    names = os.listdir(within)
    there = [int(name[1:]) for name in names if re.fullmatch(r"r[1-9][0-9]{0,8}", name)]
    newest = f"r{max([revision, *there])}\n".encode()
    for left in (name for name in names if name.startswith(f".{LATEST}-")):
        os.unlink(left, dir_fd=within)
    beside = f".{LATEST}-{secrets.token_hex(8)}"
    _write_file(beside, newest, within)
    os.rename(beside, LATEST, src_dir_fd=within, dst_dir_fd=within)
    os.fsync(within)


def _failed(error: OSError) -> DeliveryFailed:
    """Say what went wrong without a path: the reason reaches logs and metrics."""
    word = errno.errorcode.get(error.errno or 0, "unknown error")
    return DeliveryFailed(reason=f"the folder cannot be written ({word})", retry=error.errno in _MAY_PASS)
