"""The parent of every process of ours in the matrix: it has imported everything, and forks.

    python -m tests.crash.nursery [MUTANT]

An import of the worker takes seconds of CPU, and the matrix starts some two thousand of them. A line of JSON on
standard input asks for a process, {"arguments": [..], "environment": {..}, "log": PATH, "twice": bool}; a line on
standard output says what came of it: {"born": PID}, {"stopped": PID}, {"ended": PID, "code": CODE}. At the end of its input
it kills what it has forked and ends; should it be killed itself, the kernel does that.

What a child runs is `inquest` as the command line runs it. Only clocks are shorter (`_shorten_clocks`), and what a
mutant takes out is taken out here, before the fork: nothing in the product knows of it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import random
import resource
import select
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import typer

import inquest
from inquest.bootstrap import processes
from inquest.destinations.slack import pace
from inquest.domain.canonical import digest_of
from inquest.entrypoints.cli import commands
from inquest.errors import FenceLost, VersionConflict
from inquest.models import litellm_model
from inquest.ports import Write
from inquest.runtime.delivery import DeliveryOptions, DeliveryRunner
from inquest.store.deliveries import PostgresDeliveries
from inquest.store.journal import PostgresJournal
from tests.crash import mutants

SEND_FOR = timedelta(seconds=4)
PR_SET_PDEATHSIG = 1
READ_BYTES = 65_536
LATE = ("anyio._backends._asyncio", "httpcore2", "procrastinate.builtin_tasks", "procrastinate.worker")
"""What libraries import only when they are first used."""


def main(mutant: str | None) -> None:
    """Serve until standard input ends."""
    litellm = litellm_model.load()
    litellm.token_counter(model="openai/scripted", messages=[{"role": "user", "content": digest_of(b"")}])
    for module in pkgutil.walk_packages(inquest.__path__, "inquest."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)
    command = typer.main.get_command(commands.app)
    vars(typer.main)["get_command"] = lambda _app: command  # built once, not in every child
    _shorten_clocks()
    if mutant is not None:
        mutants.MUTANTS[mutant].in_process()
    gc.collect()
    gc.freeze()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    _say(ready=True)
    _serve(wake_read)


def _serve(wake: int) -> None:
    children, asked = set[int](), b""
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, READ_BYTES)
            _tell_of(children)
        if 0 in ready:
            read = os.read(0, READ_BYTES)
            if not read:
                break
            *lines, asked = (asked + read).split(b"\n")
            for line in lines:
                pid = _fork(json.loads(line))
                children.add(pid)
                _say(born=pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    _say(cpu_s=used.ru_utime + used.ru_stime)


def _tell_of(children: set[int]) -> None:
    while children:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            _say(stopped=pid)
        else:
            children.discard(pid)
            _say(ended=pid, code=os.waitstatus_to_exitcode(status))


def _say(**words: object) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")


def _fork(asked: Mapping[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = _become(asked)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def _become(asked: Mapping[str, Any]) -> int:
    """Run `inquest` in the child, and give its exit code."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 64)
    random.seed()
    for name in [name for name in os.environ if name.startswith("INQUEST_")]:
        del os.environ[name]
    os.environ.update(asked["environment"])
    if asked.get("twice"):
        _write_twice()
    os.chdir(Path(asked["log"]).parent)
    return commands.run(asked["arguments"])


def _shorten_clocks() -> None:
    """Let a lost send be looked for after seconds, and a channel be written to at once: the matrix waits for both."""
    hurried = DeliveryOptions(claim_lease=timedelta(seconds=3), send_for=SEND_FOR, find_for_s=4.0)
    vars(processes)["DeliveryRunner"] = partial(DeliveryRunner, options=hurried)
    vars(processes)["PostgresDeliveries"] = partial(PostgresDeliveries, again_after=timedelta(seconds=1))
    vars(pace)["BETWEEN_S"] = 0.01


def _write_twice() -> None:
    """Let every write of a journal reach the database twice, as a driver's repeat after a lost answer would.

    The second one has to be refused, and to change nothing.
    """
    once = PostgresJournal.commit

    async def twice(self: PostgresJournal, write: Write) -> int:
        version = await once(self, write)
        with suppress(VersionConflict, FenceLost):
            await once(self, write)
        return version

    vars_of: Any = PostgresJournal
    vars_of.commit = twice


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
