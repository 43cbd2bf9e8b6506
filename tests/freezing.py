"""Every process of an embedded Postgres, to be stopped and continued: as when its disk does not answer."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def processes_of(base: Path) -> list[int]:
    """List the server's processes: its postmaster and what that started."""
    (pid_file,) = base.rglob("postmaster.pid")
    postmaster = int(pid_file.read_text().split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [postmaster, *map(int, children)]


def send_each(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to each that is still there: a backend may have ended since it was listed."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
