"""kill -9 of the host, of the postmaster and of initdb, and what a crash can leave in postmaster.pid."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.store.embedded.hosts import MAKE_TABLE, Host, Place, is_locked, shared_memory
from tests.waiting import wait_until


def test_a_server_whose_host_was_killed_is_stopped_by_the_next_clean_stop(place: Place) -> None:
    killed = place.started()
    killed.query(MAKE_TABLE)
    server = place.pid()
    killed.kill()
    assert server in place.processes()

    heir = place.started()
    assert place.pid() == server
    assert heir.query("select answer from kept") == [42]
    heir.stop()
    assert place.processes() == {}


def test_a_killed_host_does_not_count_as_attached(place: Place) -> None:
    killed, alive = place.started(), place.started()
    killed.kill()
    alive.stop()
    assert place.processes() == {}


def test_after_a_killed_postmaster_the_next_start_recovers_what_was_committed(place: Place) -> None:
    first = place.started("fsync=on")
    first.query(MAKE_TABLE)
    os.kill(place.pid(), signal.SIGKILL)

    second = place.started("fsync=on")
    assert second.query("select answer from kept") == [42]
    assert "database system was not properly shut down" in place.log
    for host in (first, second):
        host.stop()


def test_a_start_waits_for_the_last_process_of_a_killed_server(place: Place) -> None:
    first = place.started()
    with psycopg.connect(first.conninfo) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        os.kill(place.pid(), signal.SIGKILL)
        second = place.host()
        wait_until(lambda: "pre-existing shared memory block" in place.log, "Postgres has refused to start")
        os.kill(backend, signal.SIGCONT)
        assert second.query("select 1") == [1]
    place.note_segment(place.data)
    first.stop()
    second.stop()


def test_stopping_after_the_postmaster_was_killed_leaves_nothing(place: Place) -> None:
    host = place.started()
    server = place.pid()
    segment = place.note_segment(place.data)
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: not place.processes(), "the backends have seen that the postmaster is gone")
    assert segment in shared_memory()

    host.stop()
    assert segment not in shared_memory()


@pytest.fixture
def stranger() -> Iterator[int]:
    """The process id of a live program that has nothing to do with Postgres."""
    with subprocess.Popen(["sleep", "600"]) as sleeping:
        yield sleeping.pid
        sleeping.kill()


def _write_pid_file(place: Place, content: str) -> None:
    path = place.data / "postmaster.pid"
    path.write_text(content)
    owner = place.data.stat()
    os.chown(path, owner.st_uid, owner.st_gid)


def test_a_stale_pid_file_with_the_process_id_of_a_stranger_is_seen_through(place: Place, stranger: int) -> None:
    first = place.started()
    written = (place.data / "postmaster.pid").read_text()
    first.stop()
    _write_pid_file(place, "\n".join([str(stranger), *written.splitlines()[1:]]) + "\n")

    second = place.started()
    assert place.pid() != stranger
    second.stop()
    os.kill(stranger, 0)  # it was not taken for the server and stopped


def test_a_pid_file_that_a_power_cut_left_empty_is_seen_through(place: Place) -> None:
    place.started().stop()
    _write_pid_file(place, "")
    place.started().stop()


def _initdb_at_work(place: Place) -> tuple[int, Path] | None:
    """Give initdb's process id and its folder while its postgres works in it and holds shared memory."""
    commands = place.processes()
    initdb = [(pid, Path(command[2])) for pid, command in commands.items() if Path(command[0]).name == "initdb"]
    if initdb and any("--single" in command for command in commands.values()) and _has_segment(initdb[0][1]):
        return initdb[0]
    return None


def _has_segment(folder: Path) -> bool:
    try:
        lines = (folder / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 7


def _wait_for_initdb(place: Place) -> tuple[int, Path]:
    found = wait_until(lambda: _initdb_at_work(place), "initdb is at work")
    assert found is not None
    return found


def _kill_initdb(place: Place, host: Host | None = None) -> tuple[int, int]:
    """Kill initdb and its postgres at work, after `host` if given; give the segment that they held."""
    initdb, folder = _wait_for_initdb(place)
    segment = place.note_segment(folder)
    if host is not None:
        host.kill()
    os.killpg(initdb, signal.SIGKILL)
    return segment


def test_a_killed_initdb_fails_the_start_and_leaves_nothing(new_place: Place) -> None:
    host = new_place.host()
    segment = _kill_initdb(new_place)
    assert "initdb failed with exit code -9" in host.error
    assert segment not in shared_memory()
    assert list(new_place.server.glob("new-*")) == []

    new_place.started().stop()


def test_after_host_and_initdb_were_killed_the_next_start_begins_anew(new_place: Place) -> None:
    host = new_place.host()
    segment = _kill_initdb(new_place, host)
    wait_until(lambda: not new_place.processes(), "initdb is gone")
    assert segment in shared_memory()
    assert len(list(new_place.server.glob("new-*"))) == 1
    assert not new_place.data.exists()

    new_place.started().stop()
    assert list(new_place.server.glob("new-*")) == []
    assert segment not in shared_memory()


def test_an_initdb_that_outlives_its_host_ends_before_the_next_start_begins_anew(new_place: Place) -> None:
    host = new_place.host()
    initdb, folder = _wait_for_initdb(new_place)
    new_place.note_segment(folder)
    os.kill(initdb, signal.SIGSTOP)
    host.kill()

    heir = new_place.host()
    wait_until(lambda: is_locked(new_place.server / "gate.lock"), "the next one is looking at it")
    os.kill(initdb, signal.SIGCONT)
    assert heir.query("select 1") == [1]
    assert new_place.log.count("Success. You can now start the database server") == 2  # the first went undisturbed
    assert list(new_place.server.glob("new-*")) == []
    new_place.note_segment(new_place.data)
    heir.stop()
