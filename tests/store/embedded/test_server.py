"""What a running server is like: its account, its settings, its socket, its log, its environment."""

import errno
import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from inquest.store.embedded import start
from inquest.store.embedded.layout import MAX_LOG_BYTES, SOCKET_NAME
from tests.store.embedded.hosts import Place

SETTINGS = ("listen_addresses", "max_connections", "fsync", "unix_socket_permissions", "TimeZone", "server_encoding")


def test_the_settings_suit_a_small_host_and_open_no_port(place: Place) -> None:
    host = place.started("fsync=on")
    shown = dict(zip(SETTINGS, (host.query(f"show {name}")[0] for name in SETTINGS), strict=True))
    assert shown == {
        "listen_addresses": "",
        "max_connections": "200",
        "fsync": "on",
        "unix_socket_permissions": "0700",
        "TimeZone": "UTC",
        "server_encoding": "UTF8",
    }
    host.stop()


def test_settings_of_the_caller_win(place: Place) -> None:
    host = place.started("fsync=off", "max_connections=20")
    assert host.query("select setting from pg_settings where name in ('fsync', 'max_connections') order by name") == [
        "off",
        "20",
    ]
    host.stop()


def test_folders_and_socket_are_closed_to_others(place: Place) -> None:
    host = place.started()
    closed = (place.server, place.data, host.socket_dir.parent, host.socket_dir, host.socket_dir / SOCKET_NAME)
    assert [stat.S_IMODE(path.stat().st_mode) for path in closed] == [0o700] * len(closed)
    host.stop()


def test_nothing_of_our_environment_reaches_the_server(place: Place) -> None:
    host = place.started(variables={"INQUEST_TOKEN": "tok-5ecret", "PGPORT": "7777", "PGDATA": "/nowhere"})
    environment = Path(f"/proc/{place.pid()}/environ").read_bytes()
    assert b"tok-5ecret" not in environment
    assert b"7777" not in environment
    host.stop()


def test_a_failed_statement_and_its_values_are_not_logged(place: Place) -> None:
    host = place.started()
    with pytest.raises(psycopg.errors.DivisionByZero):
        host.query("select 'val-5ecret', 1/0")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        host.query("select 'val-5ecret'::int")
    assert "ready to accept connections" in place.log
    assert "val-5ecret" not in place.log
    host.stop()


def test_a_log_past_its_cap_is_put_aside_at_the_next_start(new_place: Place) -> None:
    log = new_place.server / "postgres.log"
    new_place.started().stop()
    os.truncate(log, MAX_LOG_BYTES + 1)

    new_place.started().stop()
    assert log.with_suffix(".log.old").stat().st_size == MAX_LOG_BYTES + 1
    assert log.stat().st_size < 10_000


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def test_the_server_of_an_ordinary_user_runs_as_that_user_with_no_capability(place: Place) -> None:
    if place.uid == 0:
        pytest.skip("about ordinary users")
    host = place.started()
    status = _status(place.pid())
    assert set(status["Uid"].split()) == {str(place.uid)}
    assert int(status["CapEff"], 16) == 0
    host.stop()


ONLY_DAC_OVERRIDE = 1 << 1


def test_the_server_of_root_runs_as_nobody_with_one_capability(root_place: Place) -> None:
    users_before = Path("/etc/passwd").read_bytes()
    host = root_place.started()
    status = _status(root_place.pid())
    assert set(status["Uid"].split()) == {str(pwd.getpwnam("nobody").pw_uid)}
    assert set(status["Gid"].split()) == {str(pwd.getpwnam("nobody").pw_gid)}
    assert status["Groups"] == ""
    assert [int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [ONLY_DAC_OVERRIDE] * 4
    assert Path("/etc/passwd").read_bytes() == users_before
    host.stop()


DOCKER_DEFAULT = (
    "-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap,"
    "+net_bind_service,+sys_chroot,+kill,+audit_write"
)


def _can_run(*command: str) -> bool:
    try:
        return subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def test_root_needs_no_more_than_the_capabilities_that_docker_gives(root_place: Place) -> None:
    prefix = ("setpriv", "--bounding-set", DOCKER_DEFAULT)
    if not _can_run(*prefix):
        pytest.skip("setpriv is not here")
    host = root_place.started(prefix=prefix)
    assert host.query("select 1") == [1]
    host.stop()


def test_root_that_cannot_give_up_its_privileges_is_told_what_to_do(root_place: Place) -> None:
    prefix = ("setpriv", "--bounding-set", "-all,+dac_override,+chown,+kill")
    if not _can_run(*prefix):
        pytest.skip("setpriv is not here")
    refused = root_place.host(prefix=prefix)
    assert "cannot give up root" in refused.error
    assert "use an ordinary user, or give a database URL" in refused.error


CONNECT = """
import os, socket, sys
uid, gid, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
os.setgroups([])
os.setresgid(gid, gid, gid)
os.setresuid(uid, uid, uid)
sys.exit(socket.socket(socket.AF_UNIX).connect_ex(path))
"""


@pytest.mark.parametrize("folder", ["base", "x" * 120], ids=["socket in the base", "socket in /tmp"])
def test_other_processes_of_the_account_do_not_reach_the_socket_of_root(root_place: Place, folder: str) -> None:
    root_place.base = root_place.root / folder
    root_place.root.chmod(0o755)
    host = root_place.started()
    nobody = pwd.getpwnam("nobody")

    def connect_as(uid: int, gid: int) -> int:
        command = [sys.executable, "-c", CONNECT, str(uid), str(gid), str(host.socket_dir / SOCKET_NAME)]
        return subprocess.run(command, check=False).returncode

    assert connect_as(0, 0) == 0
    assert connect_as(nobody.pw_uid, nobody.pw_gid) == errno.EACCES
    host.stop()


def test_a_server_in_another_pid_namespace_is_not_taken_for_dead(root_place: Place) -> None:
    prefix = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    if not _can_run(*prefix):
        pytest.skip("pid namespaces are not allowed here")
    elsewhere = root_place.started(prefix=prefix)
    assert "another container" in root_place.host().error
    assert elsewhere.query("select 1") == [1]
    elsewhere.stop()


def test_a_connection_needs_no_quoting_by_the_caller(own_place: Place) -> None:
    own_place.base = own_place.root / "it's here"
    with start(own_place.base, settings={"fsync": "off"}) as server, psycopg.connect(server.conninfo) as connection:
        assert connection.execute("select current_user || '/' || current_database()").fetchone() == (
            "postgres/postgres",
        )
