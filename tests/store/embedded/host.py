"""A program that holds a share in the embedded Postgres of a folder, so that tests can kill it.

    python host.py UID BASE [SETTING=VALUE ...]

Started by root with another UID it becomes that user first, with its modules already imported:
an ordinary user need not be able to read the interpreter or the sources.

It writes one JSON line when it is attached, or one with `error` and ends. It then obeys lines
on its input: `stop` gives the share back, `fork` lets a forked child try to, `linger` forks a
child that lives as long as the host.
"""

import json
import os
import sys
from pathlib import Path

from inquest.store.embedded import EmbeddedPostgres, EmbeddedPostgresError, start

START_TIMEOUT_S = 30.0


def say(**facts: str) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def stop_in_a_child(server: EmbeddedPostgres) -> None:
    child = os.fork()
    if child == 0:
        server.stop()
        os._exit(0)
    os.waitpid(child, 0)


def leave_a_child() -> None:
    read, _held_until_the_host_ends = os.pipe()
    if os.fork() == 0:
        os.close(_held_until_the_host_ends)
        os.read(read, 1)
        os._exit(0)


def become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def main() -> None:
    uid, base, *settings = sys.argv[1:]
    if int(uid) != os.geteuid():
        become(int(uid))
    try:
        server = start(
            Path(base),
            timeout_s=START_TIMEOUT_S,
            settings=dict(setting.split("=", 1) for setting in settings),
        )
    except EmbeddedPostgresError as failed:
        say(error=str(failed))
        sys.exit(1)
    say(conninfo=server.conninfo)
    for line in sys.stdin:
        if line.strip() == "fork":
            stop_in_a_child(server)
        elif line.strip() == "linger":
            leave_a_child()
        else:
            server.stop()
        say(done=line.strip())


if __name__ == "__main__":
    main()
