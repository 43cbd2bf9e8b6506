"""Start, attach to and stop the embedded server."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from inquest.store.embedded.binaries import find_binaries
from inquest.store.embedded.cluster import SUPERUSER, create_cluster
from inquest.store.embedded.deadline import Deadline
from inquest.store.embedded.errors import EmbeddedPostgresError, translated
from inquest.store.embedded.layout import (
    PORT,
    Layout,
    closed_folder,
    prepare,
    put_long_log_aside,
    remove_socket_files,
    remove_socket_folders,
)
from inquest.store.embedded.locks import gate, nobody_is_attached, release, take_share
from inquest.store.embedded.postmaster import Status, find_running, remove_misleading_pid_file, stop_running
from inquest.store.embedded.privilege import server_account
from inquest.store.embedded.programs import launch, log_since, log_size
from inquest.store.embedded.shared_memory import named_segment, remove_orphan

_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "fsync": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # The server's own life, not the failed statements of its clients: those carry values that must not
    # reach a log, and the client gets the error anyway. It also keeps the log small.
    "log_min_messages": "log",
    "log_checkpoints": "off",
    "lc_messages": "C",  # _PASSING_REFUSALS are in English
}
_SETTING_NAME = re.compile(r"[a-z][a-z0-9_.]*")
_STOP_GATE_S = 60.0
_ABORT_PATIENCE_S = 5.0

# A server that was killed holds its data for a moment, until its last process has seen it; and one whose
# starter was killed may appear while ours starts. Both pass: look again, and start again.
_PASSING_REFUSALS = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')

# Our children that ended are reaped at the next start or stop, whoever made them end.
_children: dict[int, subprocess.Popen[bytes]] = {}


class EmbeddedPostgres:
    """A share in a running server. Not to be built directly: `start` gives it.

    As a context manager it stops at the end. `conninfo` is for psycopg: database and
    superuser are both called postgres.
    """

    def __init__(self, layout: Layout, socket_dir: str, share: int) -> None:
        # `layout` sees to it that the folder's name needs no quoting, in either form.
        self.conninfo = f"host={socket_dir} port={PORT} user={SUPERUSER} dbname=postgres"
        self._socket_dir = socket_dir
        self._layout = layout
        self._share: int | None = share
        self._attached_pid = os.getpid()

    def sqlalchemy_url(self, database: str) -> str:
        """Give the URL of `database` on this server for create_engine and create_async_engine."""
        return f"postgresql+psycopg://{SUPERUSER}@/{quote(database, safe='')}?host={self._socket_dir}&port={PORT}"

    def stop(self) -> None:
        """Give the share back; the last one out stops the server. Further calls do nothing.

        A forked child does not own the share of its parent: in it nothing happens.
        Raises EmbeddedPostgresError when the server does not end; the share is gone then too.
        """
        share, self._share = self._share, None
        if share is None or self._attached_pid != os.getpid():
            return
        with translated(f"stop Postgres in {self._layout.home}"):
            try:
                with gate(self._layout.gate, Deadline(_STOP_GATE_S)):
                    release(share)
                    share = None
                    _stop_if_unused(self._layout)
            finally:
                if share is not None:
                    release(share)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def start(base: Path, *, timeout_s: float = 60.0, settings: Mapping[str, str] | None = None) -> EmbeddedPostgres:
    """Start the server of the folder `base`, or attach to it when it runs already. Blocks until it is ready.

    Makes `base` and a new cluster in it when there is none. `settings` are server settings;
    attaching to a running server leaves those it was started with. Safe to call from several
    threads and processes at once. Raises EmbeddedPostgresError.
    """
    deadline = Deadline(timeout_s)
    options = {**_SETTINGS, **(settings or {})}
    for name in options:
        if not _SETTING_NAME.fullmatch(name):
            raise EmbeddedPostgresError(f"not the name of a Postgres setting: {name!r}")
    with translated(f"start Postgres in {base}"):
        layout = prepare(base)
        with gate(layout.gate, deadline):
            share = take_share(layout.users)
            try:
                socket_dir = _run(layout, options, deadline)
            except BaseException:
                release(share)
                _stop_if_unused(layout)
                raise
        return EmbeddedPostgres(layout, socket_dir, share)


def _run(layout: Layout, options: Mapping[str, str], deadline: Deadline) -> str:
    """See to it that a server is ready, and give the folder of its socket. Call only under the gate."""
    _reap()
    while True:
        running = find_running(layout.data)
        if running is not None and running.status is Status.READY:
            return running.socket_dir
        if running is not None:
            deadline.pause(f"Postgres in {layout.home} to finish starting or stopping")
            continue
        refusal = _launch(layout, options, deadline)
        if refusal is not None and not any(passing in refusal.words for passing in _PASSING_REFUSALS):
            raise EmbeddedPostgresError(f"Postgres did not start: {refusal.words}")
        if refusal is not None:
            deadline.pause(f"the last of a killed Postgres in {layout.home}")


@dataclass(frozen=True)
class _Refusal:
    """A server that ended instead of getting ready, and what it logged."""

    words: str


def _launch(layout: Layout, options: Mapping[str, str], deadline: Deadline) -> _Refusal | None:
    """Start a server, and a cluster before it where there is none. None when the server is ready."""
    binaries, account = find_binaries(), server_account()
    put_long_log_aside(layout)
    if not layout.data.exists():
        create_cluster(layout, binaries, account, deadline, durable=options["fsync"] != "off")
    remove_misleading_pid_file(layout.data)
    remove_socket_files(layout)
    closed_folder(layout.sockets)
    layout.socket_dir.mkdir(mode=0o700, exist_ok=True)
    account.own(layout.socket_dir)

    log_start = log_size(layout.log)
    # The program and "-D DATA" first: that is how `postmaster` knows it again.
    argv = [str(binaries / "postgres"), "-D", str(layout.data), "-k", str(layout.socket_dir)]
    argv += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    server = launch(argv, account, layout.log)
    try:
        while server.poll() is None:
            running = find_running(layout.data)
            if running is not None and running.pid == server.pid and running.status is Status.READY:
                _children[server.pid] = server
                return None
            deadline.pause(f"Postgres to get ready; see {layout.log}")
    except BaseException:
        _abort(server)
        raise
    return _Refusal(words=log_since(layout.log, log_start) or f"exit code {server.returncode}; see {layout.log}")


def _abort(server: subprocess.Popen[bytes]) -> None:
    """End a server that is not ready yet."""
    server.send_signal(signal.SIGQUIT)
    try:
        server.wait(_ABORT_PATIENCE_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _stop_if_unused(layout: Layout) -> None:
    """Stop the server when nobody is attached any more. Call only under the gate."""
    if nobody_is_attached(layout.users):
        stop_running(layout.data)
        if (segment := named_segment(layout.data)) is not None:
            remove_orphan(segment)
        remove_socket_folders(layout)
    _reap()


def _reap() -> None:
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            del _children[pid]
