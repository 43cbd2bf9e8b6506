"""Making the data folder: complete or not at all."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from inquest.store.embedded.deadline import Deadline
from inquest.store.embedded.errors import EmbeddedPostgresError
from inquest.store.embedded.layout import Layout
from inquest.store.embedded.locks import mark_in_use, wait_until_unused
from inquest.store.embedded.privilege import OwnAccount, UnprivilegedAccount
from inquest.store.embedded.programs import launch, log_since, log_size
from inquest.store.embedded.shared_memory import named_segment, remove_orphan

SUPERUSER = "postgres"

_KILLED_PATIENCE_S = 5.0

_INITDB_OPTIONS = (
    "--auth=trust",  # the socket's folder is what keeps others out
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    "--locale-provider=builtin",  # sorts the same on every machine
    "--locale=C.UTF-8",
    # Not /dev/shm: there a killed server leaves segments, and Docker gives it 64 MB.
    "--set=dynamic_shared_memory_type=mmap",
)


def create_cluster(
    layout: Layout, binaries: Path, account: OwnAccount | UnprivilegedAccount, deadline: Deadline, *, durable: bool
) -> None:
    """Make `layout.data`. Call only under the gate.

    initdb works in a folder of its own, which is renamed when it is complete: whoever is
    killed on the way leaves a folder that is not `data`, and the next call removes it.
    Raises EmbeddedPostgresError with initdb's own words when it fails.
    """
    for unfinished in layout.home.glob("new-*"):
        # Its starter was killed, its initdb perhaps not: under its hands it would panic, and leave memory behind.
        _remove_unfinished(unfinished, deadline)
    folder = layout.home / f"new-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir(mode=0o700)
    try:
        account.own(folder)
        _run_initdb(folder, layout.log, binaries, account, deadline, durable=durable)
        folder.rename(layout.data)
    finally:
        if folder.exists():
            _remove_unfinished(folder, Deadline(_KILLED_PATIENCE_S))
    if durable:
        _sync_folder(layout.home)


def _run_initdb(
    folder: Path,
    log: Path,
    binaries: Path,
    account: OwnAccount | UnprivilegedAccount,
    deadline: Deadline,
    *,
    durable: bool,
) -> None:
    log_start = log_size(log)
    sync = () if durable else ("--no-sync",)
    argv = [str(binaries / "initdb"), "-D", str(folder), *_INITDB_OPTIONS, *sync]
    in_use = mark_in_use(folder)
    try:
        initdb = launch(argv, account, log, inherited=(in_use,))
    finally:
        os.close(in_use)  # without unlocking: the mark is initdb's now
    try:
        code = initdb.wait(timeout=deadline.remaining_s())
    except subprocess.TimeoutExpired as late:
        raise EmbeddedPostgresError(f"initdb was not done in time; see {log}") from late
    finally:
        if initdb.poll() is None:
            os.killpg(initdb.pid, signal.SIGKILL)  # with the postgres that it runs
            initdb.wait()
    if code != 0:
        raise EmbeddedPostgresError(f"initdb failed with exit code {code}: {log_since(log, log_start)}")


def _remove_unfinished(folder: Path, deadline: Deadline) -> None:
    """Remove a cluster that was never finished, once no process works in it any more."""
    wait_until_unused(folder, deadline)
    segment = named_segment(folder)
    shutil.rmtree(folder)
    if segment is not None:
        remove_orphan(segment)


def _sync_folder(folder: Path) -> None:
    """Make the rename outlast a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
