"""What ends everything of an installation when the bench is killed and can end nothing itself.

`python -m bench.guard FOLDER` waits until its standard input is closed, which the kernel does for a process that
is gone, however it went. Then it stops the Postgres of FOLDER and removes what is left of it. `inquest serve` and
`inquest work` and the stand-in have a pipe of their own and end themselves.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inquest.store.embedded.deadline import Deadline
from inquest.store.embedded.layout import Layout
from inquest.store.embedded.locks import gate, nobody_is_attached
from inquest.store.embedded.postmaster import stop_running

GATE_S = 60.0
LOOK_EVERY_S = 0.1


def postgres_of(folder: Path) -> Path:
    """Give the base of the Postgres of an installation in `folder`."""
    return folder / "home" / "postgres"


@contextmanager
def guarded(folder: Path) -> Iterator[None]:
    """Have a guard for `folder` for the length of a `with`. Its session is its own: a Ctrl-C is not for it."""
    guard = subprocess.Popen(
        [sys.executable, "-m", "bench.guard", folder],
        stdin=subprocess.PIPE,
        cwd=Path(__file__).resolve().parent.parent,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.communicate()


def main(folder: Path) -> None:
    """Wait for the end of whoever started this, and tidy up after it."""
    while sys.stdin.buffer.read(1):
        pass
    layout = Layout(postgres_of(folder.resolve()) / "server")
    while folder.exists() and not stopped(layout):
        time.sleep(LOOK_EVERY_S)
    shutil.rmtree(folder, ignore_errors=True)


def stopped(layout: Layout) -> bool:
    """Stop the server unless somebody is attached: a process that is about to end, and would make its folder anew."""
    if not layout.home.exists():
        return True
    with gate(layout.gate, Deadline(GATE_S)):
        if not nobody_is_attached(layout.users):
            return False
        stop_running(layout.data)
        return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
