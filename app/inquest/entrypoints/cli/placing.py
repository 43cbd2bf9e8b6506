"""A file that a command writes: whole or not at all, for its owner's eyes, never over another one unasked."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from inquest.errors import ConfigurationError


@contextmanager
def placed(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Give what is written to beside `path`; it gets this name at the end, when nothing was raised.

    Raises ConfigurationError where something stands there already, and `force` is not given or could not help.
    The file has mode 0600.
    """
    check_free(path, force=force)
    try:
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}-")
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror})"
        raise ConfigurationError(msg) from error
    try:
        with os.fdopen(descriptor, "wb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        _name(Path(beside), path, force=force)
    finally:
        with suppress(FileNotFoundError):
            Path(beside).unlink()


def check_free(path: Path, *, force: bool) -> None:
    """Refuse a name under which nothing may be written. Raises ConfigurationError."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror})"
        raise ConfigurationError(msg) from error
    if not stat.S_ISREG(mode):
        msg = f"{path}: is no ordinary file, and is left alone"
        raise ConfigurationError(msg)
    if not force:
        raise ConfigurationError(_taken(path))


def _name(beside: Path, path: Path, *, force: bool) -> None:
    if force:
        beside.replace(path)
        return
    try:
        os.link(beside, path)  # unlike a rename, never over what somebody else has put there meanwhile
    except FileExistsError as error:
        raise ConfigurationError(_taken(path)) from error
    except OSError:  # a file system without hard links
        check_free(path, force=False)
        beside.replace(path)


def _taken(path: Path) -> str:
    return f"{path}: exists; give --force to overwrite it, or another name with --output"
