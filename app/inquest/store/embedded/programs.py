"""Running the wheel's programs: no terminal, no shell, none of our environment, output to the log."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from inquest.store.embedded.privilege import OwnAccount, UnprivilegedAccount

# Nothing else is passed on: the server has no use for the keys and tokens in our environment, PGPORT
# and its like would change what it does, and messages in English are what `server` looks for.
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}

_SHOWN_LOG_BYTES = 2048


def launch(
    argv: Sequence[str], account: OwnAccount | UnprivilegedAccount, log: Path, *, inherited: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that an interrupt from the keyboard does not reach it.

    It and its children hold the file descriptors `inherited` open.
    """
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        return subprocess.Popen(  # noqa: S603 - the wheel's programs, no shell
            account.command(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            pass_fds=inherited,
        )


def log_size(log: Path) -> int:
    """Give the bytes in the log so far; 0 when there is none."""
    return log.stat().st_size if log.exists() else 0


def log_since(log: Path, start: int) -> str:
    """Give what was logged after the first `start` bytes; of that the last 2 KiB."""
    with log.open("rb") as lines:
        lines.seek(max(start, log_size(log) - _SHOWN_LOG_BYTES))
        return lines.read(_SHOWN_LOG_BYTES).decode(errors="replace").strip()
