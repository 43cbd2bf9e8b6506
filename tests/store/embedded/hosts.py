"""Real processes that start servers, as root or as an ordinary user, and what they leave behind."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

import inquest
from tests.waiting import wait_until

PATIENCE_S = 30.0

MAKE_TABLE = "drop table if exists kept; create table kept as select 42 as answer"
_HOST = Path(__file__).with_name("host.py")
_SOURCES = str(Path(inquest.__file__).parent.parent)


class Host:
    """A process that is attached to the server of a folder, or is about to be."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        search = (variables.get("PYTHONPATH"), _SOURCES)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            text=True,
            env={"PATH": os.defpath, **variables, "PYTHONPATH": os.pathsep.join(filter(None, search))},
        )
        self._started: dict[str, str] | None = None

    def _read(self) -> dict[str, str]:
        assert self.process.stdout is not None
        read: dict[str, str] = json.loads(self.process.stdout.readline())
        return read

    def _started_as(self) -> dict[str, str]:
        if self._started is None:
            self._started = self._read()
        return self._started

    @property
    def conninfo(self) -> str:
        """Wait until it is attached."""
        started = self._started_as()
        assert "error" not in started, started["error"]
        return started["conninfo"]

    @property
    def error(self) -> str:
        """Wait until it has failed to start."""
        started = self._started_as()
        assert "error" in started, "it started"
        return started["error"]

    @property
    def socket_dir(self) -> Path:
        return Path(str(conninfo_to_dict(self.conninfo)["host"]))

    def query(self, statement: str) -> list[Any]:
        """Run one statement in autocommit and give the first column of its rows."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return [row[0] for row in cursor] if cursor.description else []

    def tell(self, order: str) -> None:
        """Give an order, see host.py, and wait until it is carried out."""
        assert self.process.stdin is not None
        _ = self.conninfo
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        assert self._read() == {"done": order}

    def stop(self) -> None:
        self.tell("stop")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


class Place:
    """A folder of some user for one server, and the processes that tests start on it.

    `base` does not exist at first.
    """

    def __init__(self, root: Path, uid: int) -> None:
        self.root = root
        self.uid = uid
        self.base = root / "base"
        self._hosts: list[Host] = []
        self._segments: set[tuple[int, int]] = set()
        self._socket_folders: set[Path] = set()
        self._log_start = 0

    @property
    def server(self) -> Path:
        return self.base.resolve() / "server"

    @property
    def data(self) -> Path:
        return self.server / "data"

    @property
    def log(self) -> str:
        """What was logged since the place was handed to the test."""
        return self._log_file.read_text()[self._log_start :] if self._log_file.exists() else ""

    @property
    def _log_file(self) -> Path:
        return self.server / "postgres.log"

    def host(self, *settings: str, prefix: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> Host:
        """Start a process that attaches to the server of this place; it is not waited for.

        Settings are NAME=VALUE; fsync is off unless said otherwise.
        """
        command = [*prefix, sys.executable, str(_HOST), str(self.uid), str(self.base), "fsync=off", *settings]
        host = Host(command, variables or {})
        self._hosts.append(host)
        return host

    def started(self, *settings: str, prefix: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> Host:
        """Start a process that attaches, and wait until it is attached."""
        host = self.host(*settings, prefix=prefix, variables=variables)
        self._socket_folders.add(host.socket_dir)
        self.note_segment(self.data)
        return host

    def pid(self) -> int:
        """Give the process id of the server."""
        return int((self.data / "postmaster.pid").read_text().splitlines()[0])

    def note_segment(self, folder: Path) -> tuple[int, int]:
        """Remember the (key, id) of a server's shared memory: it must be gone at the end."""
        key, identifier = (folder / "postmaster.pid").read_text().splitlines()[6].split()
        self._segments.add((int(key), int(identifier)))
        return int(key), int(identifier)

    def processes(self) -> dict[int, list[str]]:
        """Give the running processes of the server and of initdb, and their command lines."""
        found = {}
        for pid, command, folder in _running():
            ours = any(argument.startswith(str(self.server)) for argument in command)
            if ours or folder.startswith(str(self.server)):
                found[pid] = command
        return found

    def settle(self) -> None:
        """Kill what is left, then fail if there was anything: a process, a segment or a socket folder."""
        for host in self._hosts:
            host.close()
        left = self.processes()
        for pid in left:
            kill_if_alive(pid)
        wait_until(lambda: not self.processes(), "the last process is gone")
        folders = [folder for folder in self._socket_folders if folder.exists() or folder.parent.exists()]
        segments = self._segments & shared_memory()
        self._hosts, self._segments, self._socket_folders = [], set(), set()
        self._log_start += len(self.log)
        assert (left, folders, segments) == ({}, [], set())


def kill_if_alive(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def is_locked(path: Path) -> bool:
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def shared_memory() -> set[tuple[int, int]]:
    """Give the (key, id) of every System V segment; empty where the kernel has no table of them."""
    table = Path("/proc/sysvipc/shm")
    rows = table.read_text().splitlines()[1:] if table.exists() else []
    return {(int(row.split()[0]) & 0xFFFFFFFF, int(row.split()[1])) for row in rows}


def _running() -> Iterator[tuple[int, list[str], str]]:
    """Give (process id, command line, working folder) of every process that has them; no zombies."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                folder = str((entry / "cwd").readlink())
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if command:
                yield int(entry.name), os.fsdecode(command).rstrip("\0").split("\0"), folder
