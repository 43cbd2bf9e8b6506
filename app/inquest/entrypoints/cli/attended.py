"""A process of ours that somebody else of ours started ends when that one is gone, however it went."""

from __future__ import annotations

import os
import signal
import threading

ATTENDED = "--attended"
"""The option that tells `serve` and `work` that their standard input is a pipe from whoever started them."""


def end_with_the_starter() -> None:
    """Send this process SIGTERM when the other end of its standard input is closed. Returns at once.

    The kernel closes it, so a starter that was killed is noticed too; without this its children would go on
    without anybody who starts them again, and hold the port that the next `up` needs.
    """
    threading.Thread(target=_wait, args=(0,), name="attended", daemon=True).start()


def _wait(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
