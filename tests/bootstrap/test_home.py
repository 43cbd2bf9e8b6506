"""Where an installation lies: its key, and a database whose schema is this release's, or what to do about it."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from inquest.bootstrap.home import KEY_NAME, installation_key, open_database, open_home
from inquest.errors import ConfigurationError, StoreUnavailable
from inquest.settings import Settings
from inquest.store import migrate
from tests.postgres import Database, Databases, NewDatabase
from tests.waiting import until

KEY = "0a" * 32


@pytest.fixture
def bare(databases: Databases) -> Iterator[Database]:
    """Give a database that nobody has migrated."""
    made = databases.clone(lambda _: None)
    yield made
    databases.drop(made)


def settings(home: Path, url: str | None = None, key: Path | None = None) -> Settings:
    return Settings(home=home, database_url=None if url is None else SecretStr(url), key_file=key)


def key_file(folder: Path, text: str = KEY, mode: int = 0o600) -> Path:
    path = folder / "given.key"
    path.write_text(text)
    path.chmod(mode)
    return path


def execute(conninfo: str, statement: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(statement.encode())


# ---- the key


def test_an_embedded_installation_makes_its_key_once_for_its_user_alone(tmp_path: Path) -> None:
    made = installation_key(settings(tmp_path / "home"))

    path = tmp_path / "home" / KEY_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert installation_key(settings(tmp_path / "home")) == made


def test_a_shared_database_needs_a_key_file_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"INQUEST_KEY_FILE: a shared database needs a key.*openssl rand"):
        installation_key(settings(tmp_path, "postgresql://h/d"))
    with pytest.raises(ConfigurationError, match="cannot be read; make one with: openssl rand"):
        installation_key(settings(tmp_path, "postgresql://h/d", tmp_path / "none.key"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        (KEY, 0o640, "is readable by others; chmod 600 it"),
        ("0a" * 31, 0o600, "holds no 64 hex digits"),
        ("zz" * 32, 0o600, "holds no 64 hex digits"),
    ],
)
def test_a_key_file_that_is_none_says_what_to_do(tmp_path: Path, text: str, mode: int, told: str) -> None:
    given = settings(tmp_path, "postgresql://h/d", key_file(tmp_path, text, mode))

    with pytest.raises(ConfigurationError, match=told) as refused:
        installation_key(given)

    assert text not in str(refused.value)


def test_the_key_is_asked_for_before_the_database_is_touched(tmp_path: Path, bare: Database) -> None:
    with (
        pytest.raises(ConfigurationError, match="INQUEST_KEY_FILE"),
        open_home(settings(tmp_path, bare.url), upgrade=True),
    ):
        pass

    assert migrate.current(bare.url) is None


# ---- a given database


def test_a_given_database_is_used_as_it_is(tmp_path: Path, database: NewDatabase) -> None:
    url = database().url

    with open_home(settings(tmp_path, url, key_file(tmp_path))) as home:
        assert (home.url, home.is_embedded) == (url, False)
        assert home.key.seed == bytes.fromhex(KEY)
        home.keep_alive()

    assert not (tmp_path / "postgres").exists()


def test_without_its_schema_it_is_left_alone_and_the_command_is_told(tmp_path: Path, bare: Database) -> None:
    with (
        pytest.raises(ConfigurationError, match=r"INQUEST_DATABASE_URL: its schema is missing.* run: inquest migrate"),
        open_database(settings(tmp_path, bare.url)),
    ):
        pass

    assert migrate.current(bare.url) is None


def test_it_is_migrated_on_request_only(tmp_path: Path, bare: Database) -> None:
    with open_database(settings(tmp_path, bare.url), upgrade=True):
        assert migrate.current(bare.url) == migrate.head()
    with open_database(settings(tmp_path, bare.url)) as url:
        assert url == bare.url


def test_an_older_schema_is_told_both_versions(
    tmp_path: Path, database: NewDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = database()
    monkeypatch.setattr(migrate, "head", lambda: "9999")

    with (
        pytest.raises(ConfigurationError, match=r"its schema is 0001.*, this release needs 9999; run: inquest migrate"),
        open_database(settings(tmp_path, made.url)),
    ):
        pass


@pytest.mark.parametrize("upgrade", [False, True])
def test_a_schema_of_a_newer_release_is_left_alone(tmp_path: Path, database: NewDatabase, upgrade: bool) -> None:
    made = database()
    execute(made.conninfo, "update inquest.alembic_version set version_num = '0123_of_tomorrow'")

    with (
        pytest.raises(ConfigurationError, match="0123_of_tomorrow, which is newer than this release"),
        open_database(settings(tmp_path, made.url), upgrade=upgrade),
    ):
        pass


def test_a_user_who_may_not_change_the_schema_is_told_so(tmp_path: Path, bare: Database) -> None:
    execute(bare.conninfo, "drop role if exists guest")
    execute(bare.conninfo, "create role guest login")
    url = bare.url.replace("postgres@", "guest@", 1)

    with (
        pytest.raises(ConfigurationError, match=r"INQUEST_DATABASE_URL: this user may not change the schema"),
        open_database(settings(tmp_path, url), upgrade=True),
    ):
        pass


def test_a_user_who_may_only_use_the_schema_can_run_on_it(tmp_path: Path, database: NewDatabase) -> None:
    made = database()
    execute(made.conninfo, "drop role if exists reader")
    execute(made.conninfo, "create role reader login")
    execute(
        made.conninfo, "grant usage on schema inquest to reader; grant select on all tables in schema inquest to reader"
    )

    with open_database(settings(tmp_path, made.url.replace("postgres@", "reader@", 1))) as url:
        assert "reader@" in url


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://u:hunter2@127.0.0.1:1/d", "nothing listens at its host and port"),
        ("postgresql://u:hunter2@no-such-host.invalid/d", "its host cannot be found"),
        ("postgresql://u:hunter2@/d?host=/no/such/folder", "no Postgres has its socket there"),
    ],
)
def test_a_database_that_cannot_be_reached_is_told_with_its_reason_and_without_the_password(
    tmp_path: Path, url: str, told: str
) -> None:
    with pytest.raises(StoreUnavailable) as refused, open_database(settings(tmp_path, url)):
        pass

    assert str(refused.value) == f"INQUEST_DATABASE_URL: {told}"


def test_a_database_that_is_not_there_is_told(tmp_path: Path, bare: Database) -> None:
    url = bare.url.replace(bare.name, "no_such_database")

    with (
        pytest.raises(StoreUnavailable, match="there is no such database or user"),
        open_database(settings(tmp_path, url)),
    ):
        pass


@pytest.mark.parametrize("url", ["mysql://u:hunter2@h/d", "hunter2"])
def test_a_url_that_is_none_is_told_without_being_repeated(tmp_path: Path, url: str) -> None:
    with (
        pytest.raises(ConfigurationError, match=r"^INQUEST_DATABASE_URL: ") as refused,
        open_database(settings(tmp_path, url)),
    ):
        pass

    assert "hunter2" not in str(refused.value)


# ---- an embedded one


async def test_an_embedded_database_is_made_migrated_revived_and_stopped(tmp_path: Path) -> None:
    with open_home(settings(tmp_path)) as home:
        assert (home.is_embedded, migrate.current(home.url)) == (True, migrate.head())
        await _kill_server(tmp_path)
        home.keep_alive()
        assert migrate.current(home.url) == migrate.head()

    assert list((tmp_path / "postgres").rglob("postmaster.pid")) == []


async def _kill_server(home: Path) -> None:
    """Kill the server, and wait until it is gone: a signal is only on its way when `kill` returns."""
    (found,) = (home / "postgres").rglob("postmaster.pid")
    pid = int(found.read_text().splitlines()[0])
    os.kill(pid, signal.SIGKILL)
    cmdline = Path(f"/proc/{pid}/cmdline")
    await until(lambda: not cmdline.exists() or cmdline.read_bytes() == b"")
