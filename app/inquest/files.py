"""Small files that an operator names: read whole, within a bound, and only where a file is a file.

A path in a configuration may be a pipe, a device or a folder. Opening a pipe waits for whoever writes it, and a
device has no end: neither is read.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from inquest.errors import UnreadableFile


def read_file(path: Path, *, most: int) -> bytes:
    """Read the file at `path`, of at most `most` bytes. Raises UnreadableFile, which says why in a few words."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                msg = "a pipe or a device, not a file"
                raise UnreadableFile(msg)
            raw = opened.read(most + 1)
    except OSError as error:
        raise UnreadableFile(error.strerror or "the system refuses it") from error
    except ValueError as error:
        msg = "a path holds no NUL"
        raise UnreadableFile(msg) from error
    if len(raw) > most:
        msg = f"larger than {most} bytes"
        raise UnreadableFile(msg)
    return raw
