"""The folders of one embedded server.

BASE/server is closed (0700) and belongs to whoever starts the server; all else is inside:

    gate.lock      held exclusively around every start and stop
    users.lock     held shared by every process that is attached
    data/          the cluster; belongs to the account the server runs as
    new-PID-NS/    a cluster in the making, renamed to data when it is complete
    socket/s/      the Unix socket, unless its path would not do: then /tmp/inquest-UID-HASH/s
    postgres.log   what initdb and the server say; one older file is kept

No permission of BASE or of a folder above it is ever changed.
"""

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from inquest.store.embedded.errors import EmbeddedPostgresError

PORT = 5432  # only the name of the socket file: no TCP port is opened
SOCKET_NAME = f".s.PGSQL.{PORT}"
MAX_SOCKET_PATH_BYTES = 103  # sockaddr_un less its NUL: 107 on Linux, 103 on macOS; the smaller serves both
MAX_LOG_BYTES = 4 * 1024 * 1024  # a longer log is put aside at the next start

# Who reads a connection string disagrees about spaces, commas, colons and plus signs: keep to what all read alike.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./-]+")


@dataclass(frozen=True)
class Layout:
    """Where everything of one server is. `home` is absolute and free of symbolic links."""

    home: Path

    @property
    def data(self) -> Path:
        """The cluster."""
        return self.home / "data"

    @property
    def gate(self) -> Path:
        """The lock file of those who start or stop."""
        return self.home / "gate.lock"

    @property
    def users(self) -> Path:
        """The lock file of those who are attached."""
        return self.home / "users.lock"

    @property
    def log(self) -> Path:
        """The log of initdb and the server."""
        return self.home / "postgres.log"

    @property
    def sockets(self) -> Path:
        """The closed folder around the socket's folder.

        Two folders, because the inner one must belong to the server's account, and other
        processes of that account (as root: nobody) must not get through to the socket.
        """
        inside = self.home / "socket"
        full = str(inside / "s" / SOCKET_NAME)
        if len(os.fsencode(full)) <= MAX_SOCKET_PATH_BYTES and _PLAIN_PATH.fullmatch(full):
            return inside
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]
        # /tmp and not TMPDIR: it is short, and the same for every process that attaches.
        return Path("/tmp") / f"inquest-{os.geteuid()}-{digest}"  # noqa: S108 - closed_folder checks its owner

    @property
    def socket_dir(self) -> Path:
        """The folder of the socket itself, the `host` of a connection."""
        return self.sockets / "s"


def prepare(base: Path) -> Layout:
    """Make `base` and its closed folder where they are missing, and give the layout.

    Raises EmbeddedPostgresError when the folder belongs to somebody else.
    """
    if any(ord(character) < ord(" ") for character in str(base)):
        # postmaster.pid holds the path as one line among others.
        raise EmbeddedPostgresError(f"the path of an embedded Postgres cannot hold control characters: {str(base)!r}")
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    home = base.resolve() / "server"
    closed_folder(home)
    return Layout(home)


def closed_folder(path: Path) -> None:
    """Make the folder, or check that it is a real folder of ours which nobody else can enter.

    Raises EmbeddedPostgresError when it is not: in /tmp somebody may have been there first.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    if not _is_closed_and_ours(path):
        found = path.lstat()
        raise EmbeddedPostgresError(
            f"{path} must be a folder of user {os.geteuid()} with mode 0700; it belongs to user "
            f"{found.st_uid} and has mode {stat.filemode(found.st_mode)}"
        )


def _is_closed_and_ours(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def remove_socket_files(layout: Layout) -> None:
    """Remove the files that a killed server left. Call only under the gate, when no server runs.

    Postgres does so itself, unless its lock file names a process that lives, or has died and
    waits to be reaped.
    """
    if _is_closed_and_ours(layout.sockets):
        for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (layout.socket_dir / name).unlink(missing_ok=True)


def remove_socket_folders(layout: Layout) -> None:
    """Remove the socket's folders and what is left in them. Call only under the gate, when no server runs."""
    if _is_closed_and_ours(layout.sockets):
        remove_socket_files(layout)
        if layout.socket_dir.is_dir():
            layout.socket_dir.rmdir()
        layout.sockets.rmdir()


def put_long_log_aside(layout: Layout) -> None:
    """Keep the log bounded: one that has grown past its cap becomes postgres.log.old."""
    if layout.log.exists() and layout.log.stat().st_size > MAX_LOG_BYTES:
        layout.log.replace(layout.log.with_suffix(".log.old"))
