"""Which account the server runs as.

Postgres refuses to run as root, and an ordinary account cannot enter root's closed folders.
Started by root, the server therefore runs as `nobody` with one capability, CAP_DAC_OVERRIDE,
so that neither the data nor the installed programs have to move and no folder has to be
opened (ADR 0003). Started by anybody else it runs as that user, with nothing added.
"""

import os
import pwd
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inquest.store.embedded.errors import EmbeddedPostgresError

_UNPRIVILEGED = "nobody"
_LOWER_PRIVILEGES = Path(__file__).with_name("lower_privileges.py")


@dataclass(frozen=True)
class OwnAccount:
    """The server runs as the user who starts it."""

    def command(self, argv: Sequence[str]) -> list[str]:
        """Give the command that runs `argv` as this account."""
        return list(argv)

    def own(self, folder: Path) -> None:
        """Make the account the owner of a folder that we made: it is already."""


@dataclass(frozen=True)
class UnprivilegedAccount:
    """Root starts the server; it runs as another user."""

    uid: int
    gid: int

    def command(self, argv: Sequence[str]) -> list[str]:
        """Give the command that runs `argv` as this account."""
        # -I -S: nothing of the environment or of site-packages runs while it is still root.
        return [sys.executable, "-I", "-S", str(_LOWER_PRIVILEGES), str(self.uid), str(self.gid), *argv]

    def own(self, folder: Path) -> None:
        """Make the account the owner of a folder that we made."""
        os.chown(folder, self.uid, self.gid)


def server_account() -> OwnAccount | UnprivilegedAccount:
    """Give the account for servers that this process starts.

    Raises EmbeddedPostgresError for root where privileges cannot be lowered this way.
    """
    if os.geteuid() != 0:
        return OwnAccount()
    if sys.platform != "linux":
        raise EmbeddedPostgresError("Postgres does not run as root: use an ordinary user, or give a database URL")
    try:
        account = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError as missing:
        raise EmbeddedPostgresError(
            f"Postgres does not run as root and there is no user {_UNPRIVILEGED!r} to run it as: "
            "use an ordinary user, or give a database URL"
        ) from missing
    return UnprivilegedAccount(uid=account.pw_uid, gid=account.pw_gid)
