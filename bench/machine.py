"""The machine, as far as figures depend on it."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

from bench.summary import median
from inquest.domain.value import Value
from inquest.store.embedded.binaries import find_binaries

SYNCS = 50
BLOCK = bytes(8_192)
"""A page of Postgres."""


class Machine(Value):
    """What runs it. `load` is the load average of the last minute; `sync_ms` what writing a page to the disk takes."""

    cores: int
    processor: str
    memory_mb: int
    kernel: str
    python: str
    postgres: str
    file_system: str
    sync_ms: float
    load: float


def describe() -> Machine:
    """Look at it. Takes a moment: it writes to the folder for temporary files, where the database will be."""
    postgres = subprocess.run([find_binaries() / "postgres", "--version"], check=True, capture_output=True, text=True)
    return Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        processor=_processor(),
        memory_mb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024**2,
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        postgres=postgres.stdout.strip(),
        file_system=_file_system(Path(tempfile.gettempdir()).resolve()),
        sync_ms=_sync_ms(),
        load=load(),
    )


def load() -> float:
    """Give the load average of the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    found = Path("/proc/cpuinfo")
    lines = found.read_text(encoding="utf-8").splitlines() if found.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _file_system(folder: Path) -> str:
    """Name the type of the file system of `folder`: on tmpfs a sync costs nothing."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    points = {Path(line.split()[1]): line.split()[2] for line in mounts.read_text(encoding="utf-8").splitlines()}
    return next(points[place] for place in (folder, *folder.parents) if place in points)


def _sync_ms() -> float:
    with tempfile.TemporaryFile() as file:
        took = []
        for _ in range(SYNCS):
            began = time.perf_counter()
            file.write(BLOCK)
            file.flush()
            os.fsync(file.fileno())
            took.append((time.perf_counter() - began) * 1000)
    return median(took)
