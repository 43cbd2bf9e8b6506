from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.installation import ROOT
from tests.waiting import until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"),
]

BENCH = """
from bench.installation import installation
from bench.stand_in import watched_by_stand_in

with installation() as one, watched_by_stand_in(one), one.serving(), one.working():
    print(one.folder, flush=True)
    input()
"""


def of_folder(folder: str) -> list[str]:
    """Give the commands of the processes that have `folder` in their arguments, environment or open files."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or process.name == str(os.getpid()):
            continue
        try:
            told = (process / "cmdline").read_bytes()
            opened = [str(one.readlink()) for one in (process / "fd").iterdir()]
            if folder.encode() in told + (process / "environ").read_bytes() or any(folder in one for one in opened):
                found.append(told.replace(b"\0", b" ").decode())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended while we looked, or is somebody else's
    return found


async def test_a_bench_that_is_killed_leaves_no_process_and_no_folder() -> None:
    bench = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BENCH, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert bench.stdout is not None
    folder = (await bench.stdout.readline()).decode().strip()
    commands = " ".join(of_folder(folder))
    for program in ("inquest serve", "inquest work", "bench.stand_in", "bench.guard", "postgres"):
        assert program in commands, commands

    bench.kill()
    await bench.wait()

    await until(lambda: of_folder(folder) == [], patience_s=60)
    assert not Path(folder).exists()  # noqa: ASYNC240  # one look
