"""Who may start and stop, and who is attached, as flocks: the kernel drops them when a process is killed.

An inherited copy of a lock (after a fork) counts as the same lock, so releasing always
unlocks explicitly instead of only closing.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inquest.store.embedded.deadline import Deadline


@contextmanager
def gate(path: Path, deadline: Deadline) -> Iterator[None]:
    """Be the only one who starts or stops a server here. Raises EmbeddedPostgresError at the deadline."""
    lock = _open(path)
    try:
        while not _try_lock(lock, fcntl.LOCK_EX):
            deadline.pause(f"another process that is starting or stopping Postgres (it holds {path})")
        yield
    finally:
        release(lock)


def take_share(path: Path) -> int:
    """Count as attached until `release`. Call only under the gate: there nobody holds it exclusively."""
    lock = _open(path)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def nobody_is_attached(path: Path) -> bool:
    """Tell whether no live process has a share. Call only under the gate."""
    lock = _open(path)
    try:
        return _try_lock(lock, fcntl.LOCK_EX)
    finally:
        release(lock)


def mark_in_use(folder: Path) -> int:
    """Lock a folder for as long as any process lives that inherits the lock; give it to be released."""
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def wait_until_unused(folder: Path, deadline: Deadline) -> None:
    """Wait until no process is left that inherited the mark. Raises EmbeddedPostgresError at the deadline."""
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while not _try_lock(lock, fcntl.LOCK_EX):
            deadline.pause(f"the processes that still work in {folder}")
    finally:
        release(lock)


def release(lock: int) -> None:
    """Give the lock back, copies inherited by child processes included."""
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
