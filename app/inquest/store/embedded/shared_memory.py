"""The one small System V segment of each server, as far as killed servers leave it behind.

Postgres removes it when it ends, and finds a leftover again when it next starts on the same
folder. A folder that nobody will start on again has nobody else to do that.
"""

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

from inquest.store.embedded.deadline import Deadline

_SYSV_SEGMENTS = Path("/proc/sysvipc/shm")
_IPC_RMID = 0
_SEGMENT_LINE = 7
_KEY_BITS = 0xFFFF_FFFF  # Postgres writes the key unsigned, the kernel shows it signed
_DETACH_PATIENCE_S = 2.0  # the processes of a killed server take a moment to see that it is gone


@dataclass(frozen=True)
class Segment:
    """A segment by both its names: identifiers are used again, so alone they prove nothing."""

    key: int
    identifier: int


def named_segment(data: Path) -> Segment | None:
    """Give the segment that postmaster.pid in `data` names; None when there is none to look after.

    Always None but on Linux: elsewhere there is no table to check a segment against, and it stays.
    """
    try:
        lines = (data / "postmaster.pid").read_text(errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return None
    if sys.platform != "linux" or len(lines) < _SEGMENT_LINE or not _SYSV_SEGMENTS.exists():
        return None
    key, identifier = (int(number) for number in lines[_SEGMENT_LINE - 1].split())
    return Segment(key, identifier)


def remove_orphan(segment: Segment) -> None:
    """Remove a segment as soon as no process is attached to it; one that stays in use is left alone."""
    patience = Deadline(_DETACH_PATIENCE_S)
    while (attached := _attached(segment)) and patience.remaining_s():
        patience.pause("the last process to leave the shared memory")
    if attached == 0:
        ctypes.CDLL(None).shmctl(segment.identifier, _IPC_RMID, None)


def _attached(segment: Segment) -> int | None:
    """Count the processes attached to a segment; None when there is no such segment."""
    header, *rows = (row.split() for row in _SYSV_SEGMENTS.read_text().splitlines())
    for row in rows:
        shown = dict(zip(header, row, strict=True))
        if int(shown["shmid"]) == segment.identifier and int(shown["key"]) & _KEY_BITS == segment.key & _KEY_BITS:
            return int(shown["nattch"])
    return None
