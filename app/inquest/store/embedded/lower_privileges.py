"""A program of its own: become UID:GID, keep CAP_DAC_OVERRIDE alone, and run the given command.

    python -I -S lower_privileges.py UID GID PROGRAM [ARGUMENT ...]

Linux only, and for root only. It is a process of its own because between fork and exec a
threaded parent may not run Python. Numbers: prctl(2), capabilities(7), linux/capability.h.
"""

import ctypes
import os
import sys

_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_CAP_DAC_OVERRIDE = 1
_LINUX_CAPABILITY_VERSION_3 = 0x20080522
_EXIT_CANNOT_RUN = 126  # as a shell says it


def _checked(result: int, step: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), step)


def _lower(uid: int, gid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def prctl(step: str, *numbers: int) -> None:
        padded = [ctypes.c_ulong(number) for number in (*numbers, 0, 0, 0, 0, 0)[:5]]
        _checked(libc.prctl(*padded), step)

    # Without this, access(2) ignores the capabilities of a user that is not root, and initdb
    # asks access(2) whether it may run postgres. It also keeps them over setresuid.
    prctl("prctl(PR_SET_SECUREBITS)", _PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)

    kept = 1 << _CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(_LINUX_CAPABILITY_VERSION_3, 0)
    low_then_high_words = (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)  # effective, permitted, inheritable
    _checked(libc.capset(header, low_then_high_words), "capset")
    prctl("prctl(PR_CAP_AMBIENT)", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE)


def main(arguments: list[str]) -> None:
    """Do not return: become the command, or exit with 126 and a line that says what was refused."""
    uid, gid, *command = arguments
    try:
        _lower(int(uid), int(gid))
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as refused:
        sys.stderr.write(
            f"FATAL:  cannot give up root to run Postgres: {refused}; use an ordinary user, or give a database URL\n"
        )
        sys.exit(_EXIT_CANNOT_RUN)


if __name__ == "__main__":
    main(sys.argv[1:])
