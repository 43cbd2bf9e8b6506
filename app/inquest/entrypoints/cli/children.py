"""Processes of our own: started, kept alive, and stopped within a bound."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from inquest.entrypoints.cli.attended import ATTENDED
from inquest.telemetry import log

RESTART_BACKOFF_S = (0.5, 1.0, 2.0, 5.0)
STEADY_AFTER_S = 60.0
"""A child that lived this long starts its backoff anew."""
CHILDREN_STOP_S = 40.0
"""For all of them together, above the longest drain; whoever is left is killed."""


class Child:
    """One of our own processes, started again with a growing pause when it ends unasked."""

    def __init__(self, command: str, config: Path | None, environment: Mapping[str, str] | None = None) -> None:
        """`environment` is all of it; None passes this process's on."""
        self.command = command
        self.code: int | None = None
        """How it ended the last time; None before that."""
        self._config = config
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._deaths = 0
        self._not_before = 0.0

    @property
    def pid(self) -> int | None:
        """Give its process id while there is one."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it. Its signals are ours to pass on: it leads a group of its own.

        Its standard input is a pipe whose other end only we hold: when we are killed, it reads the end of it.
        """
        arguments = [sys.executable, "-m", "inquest", self.command, ATTENDED]
        if self._config is not None:
            arguments += ["--config", os.fspath(self._config)]
        self._process = subprocess.Popen(  # noqa: S603  # ourselves
            arguments, env=self._environment, start_new_session=True, stdin=subprocess.PIPE
        )
        self._started_at = time.monotonic()

    def has_ended(self) -> bool:
        """Look whether it has ended; `code` then says how. False while it runs, or waits to be started again."""
        if self._process is None:
            return False
        code = self._process.poll()
        if code is None:
            return False
        self.code = code
        self._let_go()
        lived = time.monotonic() - self._started_at
        self._deaths = 1 if lived >= STEADY_AFTER_S else self._deaths + 1
        pause = RESTART_BACKOFF_S[min(self._deaths, len(RESTART_BACKOFF_S)) - 1]
        self._not_before = time.monotonic() + pause
        log().error("process_ended", command=self.command, code=code, again_in_s=pause)
        return True

    def keep_alive(self) -> None:
        """Start it again when it has ended and its pause is over."""
        if self._process is None and time.monotonic() >= self._not_before:
            self.start()

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop_by(self, moment: float) -> None:
        """Wait for its end until `moment`, monotonic; then kill it."""
        if self._process is None:
            return
        try:
            self._process.wait(max(moment - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            log().error("process_killed", command=self.command)
            self._process.kill()
            self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        """Close our end of the pipe of a process that has ended."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None


def stop_all(children: Sequence[Child], *, within_s: float = CHILDREN_STOP_S) -> None:
    """Ask all to stop, wait, and kill who is left after `within_s`."""
    ends = time.monotonic() + within_s
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.stop_by(ends)
