"""Whether a server runs on a data folder, and how to make it end.

The facts come from postmaster.pid. Its lines, by Postgres's pidfile.h: process id, data
folder, start time, port, socket folder, listen address, shared memory key and id, status.
"""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inquest.store.embedded.deadline import Deadline
from inquest.store.embedded.errors import EmbeddedPostgresError
from inquest.store.embedded.layout import SOCKET_NAME

_PROBE_TIMEOUT_S = 1.0
_DYING_S = 5.0
_STATUS_LINE = 8

# Fast shutdown, immediate shutdown, kill; each with the seconds it gets before the next.
_STOP_SIGNALS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))


class Status(StrEnum):
    """The status line, as far as we tell it apart."""

    READY = "ready"
    OTHER = "other"  # starting, recovering or stopping


@dataclass(frozen=True)
class Postmaster:
    """A running server."""

    pid: int
    status: Status
    socket_dir: str


def find_running(data: Path) -> Postmaster | None:
    """Give the server that runs on `data`, or None.

    Raises EmbeddedPostgresError when one answers that is no process of ours to see.
    """
    written = _read_pid_file(data)
    if written is None:
        return None
    if _runs_on(written.pid, data):
        return written
    if _answers_still(written.socket_dir):
        # Another container or pid namespace shares the folder. Starting a second server would ruin the data.
        raise EmbeddedPostgresError(
            f"a Postgres that this process cannot see (another container?) runs on {data}: stop it there first"
        )
    return None


def remove_misleading_pid_file(data: Path) -> None:
    """Remove what a dead server left, if it would keep Postgres from starting.

    Call only under the gate, after `find_running` gave None. Postgres itself sees through a
    stale file, unless it is empty or its process id lives again in some other program. Its
    shared memory still keeps a second server off the same data.
    """
    written = _read_pid_file(data)
    if written is None or _lives(written.pid):
        (data / "postmaster.pid").unlink(missing_ok=True)


def stop_running(data: Path) -> None:
    """Make the server on `data` end, at worst by killing it; nothing happens when there is none.

    Raises EmbeddedPostgresError when it outlives even that.
    """
    running = find_running(data)
    if running is None:
        return
    for number, patience_s in _STOP_SIGNALS:
        if _end(running.pid, data, number, patience_s):
            return
    raise EmbeddedPostgresError(f"Postgres (process {running.pid}) on {data} does not end")


def _end(pid: int, data: Path, number: signal.Signals, patience_s: float) -> bool:
    """Signal the server and tell whether it was gone within `patience_s`.

    Gone is "no longer running this command", not "no such process": whoever has to reap
    it, process 1 perhaps, may take a second more.
    """
    patience = Deadline(patience_s)
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    while _runs_on(pid, data):
        if not patience.remaining_s():
            return False
        patience.pause("Postgres to end")
    return True


def _read_pid_file(data: Path) -> Postmaster | None:
    """Read postmaster.pid, which may be half written. None when it names no process."""
    try:
        lines = (data / "postmaster.pid").read_text(errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return None
    lines += [""] * (_STATUS_LINE - len(lines))
    if not lines[0].isascii() or not lines[0].isdigit():
        return None
    status = Status.READY if lines[7].strip() == Status.READY else Status.OTHER
    return Postmaster(pid=int(lines[0]), status=status, socket_dir=lines[4])


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _runs_on(pid: int, data: Path) -> bool:
    """Tell whether the process is a postgres started on exactly this data folder. A zombie is not."""
    if sys.platform == "darwin":  # untested
        shown = subprocess.run(  # noqa: S603 - a fixed program and a number
            ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False, timeout=5
        )
        return b"postgres -D " + os.fsencode(data) + b" " in shown.stdout
    try:
        program, *arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return program.endswith(b"/postgres") and os.fsencode(data) in arguments


def _answers_still(socket_dir: str) -> bool:
    """Tell whether the socket of a process that is gone goes on answering.

    That of a server that was just killed does for a moment: until the kernel has taken its process apart.
    """
    deadline = Deadline(_DYING_S)
    while _answers(socket_dir):
        if not deadline.remaining_s():
            return True
        deadline.pause("a killed server's socket to close")
    return False


def _answers(socket_dir: str) -> bool:
    """Tell whether a server accepts connections on its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_TIMEOUT_S)
        try:
            probe.connect(f"{socket_dir}/{SOCKET_NAME}")
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True
