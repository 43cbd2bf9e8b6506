"""Starting, attaching and stopping, by one process and by several."""

import fcntl
import os
import signal
from pathlib import Path

import psycopg
import pytest

from inquest.store.embedded import EmbeddedPostgresError, start
from tests.store.embedded.hosts import MAKE_TABLE, Place, is_locked
from tests.waiting import wait_until


def _servers_started(place: Place) -> int:
    return place.log.count("starting PostgreSQL")


def test_what_was_committed_is_there_at_the_next_start(place: Place) -> None:
    first = place.started("fsync=on")
    first.query(MAKE_TABLE)
    first.stop()
    assert place.processes() == {}

    second = place.started("fsync=on")
    assert second.query("select answer from kept") == [42]
    second.stop()


def test_processes_that_start_at_once_on_a_new_folder_share_one_server(new_place: Place) -> None:
    hosts = [new_place.host() for _ in range(3)]
    assert len({host.conninfo for host in hosts}) == 1
    new_place.note_segment(new_place.data)

    assert [host.query("select count(*) from pg_database where datallowconn") for host in hosts] == [[2]] * 3
    assert new_place.log.count("The database cluster will be initialized") == 1
    assert _servers_started(new_place) == 1
    for host in hosts:
        host.stop()


def test_the_last_one_out_stops_the_server(place: Place) -> None:
    starter, attached = place.started(), place.started()

    starter.stop()
    assert attached.query("select 1") == [1]
    assert _servers_started(place) == 1

    attached.stop()
    assert place.processes() == {}
    assert not attached.socket_dir.parent.exists()


def test_stopping_twice_gives_one_share_back(place: Place) -> None:
    first, second = place.started(), place.started()
    first.stop()
    first.stop()
    assert second.query("select 1") == [1]
    second.stop()


def test_a_forked_child_cannot_give_the_share_of_its_parent_back(place: Place) -> None:
    host = place.started()
    host.tell("fork")
    assert host.query("select 1") == [1]
    host.stop()


def test_a_forked_child_that_lives_on_does_not_keep_the_server_alive(place: Place) -> None:
    host = place.started()
    host.tell("linger")
    host.stop()
    assert place.processes() == {}


def test_one_process_may_attach_twice(own_place: Place) -> None:
    with start(own_place.base, settings={"fsync": "off"}) as second:
        first = start(own_place.base)
        first.stop()
        with psycopg.connect(second.conninfo) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    assert own_place.processes() == {}


def test_servers_of_two_users_do_not_meet(place: Place, own_place: Place) -> None:
    theirs, ours = place.started(), own_place.started()
    theirs.query("create table mine as select 'theirs' as owner")
    ours.query("create table mine as select 'ours' as owner")
    assert theirs.query("select owner from mine") == ["theirs"]
    theirs.stop()
    assert ours.query("select owner from mine") == ["ours"]
    ours.stop()


def test_a_start_waits_for_a_server_that_is_just_stopping(place: Place) -> None:
    first = place.started()
    stopping = place.pid()
    with psycopg.connect(first.conninfo) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)  # a server does not end before its clients' processes do
        os.kill(stopping, signal.SIGINT)
        wait_until(lambda: "stopping" in (place.data / "postmaster.pid").read_text(), "the server is stopping")
        second = place.host()
        wait_until(lambda: is_locked(place.server / "gate.lock"), "the next one is looking at it")
        os.kill(backend, signal.SIGCONT)
        assert second.query("select 1") == [1]
    assert place.pid() != stopping
    place.note_segment(place.data)
    first.stop()
    second.stop()


def test_whoever_waits_for_the_gate_gives_up_at_the_deadline(own_place: Place) -> None:
    gate = own_place.base / "server" / "gate.lock"
    gate.parent.mkdir(parents=True, mode=0o700)
    with gate.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedPostgresError, match=r"gave up after 0\.1 s .*gate\.lock"):
            start(own_place.base, timeout_s=0.1)


def test_a_server_that_refuses_its_settings_is_reported_in_its_own_words(place: Place) -> None:
    refused = place.host("shared_buffers=much")
    assert 'invalid value for parameter "shared_buffers": "much"' in refused.error
    assert place.processes() == {}


def test_a_failed_start_keeps_no_share(own_place: Place) -> None:
    with pytest.raises(EmbeddedPostgresError, match="shared_buffers"):
        start(own_place.base, settings={"fsync": "off", "shared_buffers": "much"})
    start(own_place.base, settings={"fsync": "off"}).stop()
    assert own_place.processes() == {}


def test_a_setting_is_a_name_not_an_option(own_place: Place) -> None:
    with pytest.raises(EmbeddedPostgresError, match="not the name of a Postgres setting"):
        start(own_place.base, settings={"fsync off -h": ""})
    assert not own_place.base.exists()


def test_what_the_system_refuses_is_translated_with_its_cause(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedPostgresError, match="cannot start Postgres") as failed:
        start(tmp_path / "file" / "base")
    assert isinstance(failed.value.__cause__, NotADirectoryError)
