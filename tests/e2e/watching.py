"""What our processes connect to and which names they look up, journalled by a `sitecustomize` in each of them.

It does not see what libpq does for itself: that is told where the database is, a socket in a folder of the test.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from tests.e2e.journals import Entry, read_journal

_JOURNAL = "E2E_CONNECTIONS"
_SITECUSTOMIZE = f"""
import json, os, sys

def write(event, host):
    os.write(journal, (json.dumps({{"pid": os.getpid(), "event": event, "host": host}}) + "\\n").encode())

def watch(event, arguments):
    if event in {{"socket.connect", "socket.sendto", "socket.getaddrinfo"}}:
        to = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        host = to[0] if isinstance(to, tuple) else to
        write(event, os.fsdecode(host) if isinstance(host, bytes) else host)

journal = os.open(os.environ[{_JOURNAL!r}], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
write("started", None)
sys.addaudithook(watch)
"""


@dataclass(frozen=True)
class Watch:
    """The journal of every Python process that is started with its `environment`."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Give the variables with which a process is watched."""
        paths = os.pathsep.join([str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {"PYTHONPATH": paths, _JOURNAL: str(self._journal)}

    def connections(self) -> list[Entry]:
        """Give what was connected to and looked up so far, and the start of each process."""
        return read_journal(self._journal)

    def stayed_here(self) -> None:
        """Check that somebody was watched, who connected to this machine and to no other."""
        made = self.connections()
        assert any(entry["event"] == "socket.connect" for entry in made)
        assert [entry for entry in made if not is_on_this_machine(entry["host"])] == []

    @property
    def _journal(self) -> Path:
        return self.folder / "connections.jsonl"


def watch(folder: Path) -> Watch:
    """Make a watch that keeps its files in `folder`, a new one."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SITECUSTOMIZE, encoding="utf-8")
    return Watch(folder)


def is_on_this_machine(host: str | None) -> bool:
    """Say whether an address is a loopback one, or no network address at all (a socket in a folder)."""
    if host is None or host == "localhost" or host.startswith(("/", "\0")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
