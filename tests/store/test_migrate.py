"""A database is migrated whole, once, by one process at a time."""

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, get_args

import psycopg
import pytest

from inquest.domain.event import EventBody
from inquest.errors import ConfigurationError, StoreUnavailable
from inquest.resources import migrations_dir
from inquest.store import migrate
from inquest.store.database import Database
from tests.postgres import NewDatabase, TemplateMaker

PATIENCE_S = 30.0


@pytest.fixture(scope="session")
def empty_template() -> TemplateMaker:
    return lambda url: None


@pytest.fixture
def template_maker(empty_template: TemplateMaker) -> TemplateMaker:
    return empty_template


def objects(conninfo: str) -> list[tuple[Any, ...]]:
    """Give every relation, function, type and trigger of our two schemas, with the version of its row."""
    with psycopg.connect(conninfo) as connection:
        return connection.execute(
            "select n.nspname, 'relation', c.relname, c.oid, c.xmin::text from pg_class c"
            " join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('inquest', 'procrastinate')"
            " union all select n.nspname, 'function', p.proname, p.oid, p.xmin::text from pg_proc p"
            " join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('inquest', 'procrastinate')"
            " union all select n.nspname, 'schema', '', n.oid, n.xmin::text from pg_namespace n"
            " where n.nspname in ('inquest', 'procrastinate') order by 1, 2, 3, 4"
        ).fetchall()


def test_an_empty_database_is_brought_to_the_head(database: NewDatabase) -> None:
    made = database()
    assert migrate.current(made.url) is None

    migrate.upgrade(made.url)

    assert migrate.current(made.url) == migrate.head()
    assert {row[0] for row in objects(made.conninfo)} == {"inquest", "procrastinate"}


def test_a_second_upgrade_changes_nothing(database: NewDatabase) -> None:
    made = database()
    migrate.upgrade(made.url)
    before = objects(made.conninfo)

    migrate.upgrade(made.url)

    assert objects(made.conninfo) == before


def test_processes_that_migrate_at_once_are_all_content(database: NewDatabase) -> None:
    made = database()
    code = "import sys; from inquest.store.migrate import upgrade; sys.stdin.read(1); upgrade(sys.argv[1])"
    running = [
        subprocess.Popen([sys.executable, "-c", code, made.url], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()

    said = [process.communicate(timeout=PATIENCE_S)[1] for process in running]

    assert [process.returncode for process in running] == [0, 0, 0], said
    assert migrate.current(made.url) == migrate.head()


def test_a_migration_that_is_killed_in_the_middle_leaves_nothing(database: NewDatabase) -> None:
    made = database()
    with psycopg.connect(made.conninfo) as other:
        other.execute("create schema procrastinate")  # uncommitted: the migration waits for it, half done
        code = "import sys; from inquest.store.migrate import upgrade; upgrade(sys.argv[1])"
        process = subprocess.Popen([sys.executable, "-c", code, made.url])
        _until_one_waits(made.conninfo)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
        other.rollback()
    _until_nobody_else_is_connected(made.conninfo)

    assert objects(made.conninfo) == []
    migrate.upgrade(made.url)
    assert migrate.current(made.url) == migrate.head()


def _until_one_waits(conninfo: str) -> None:
    _poll(
        conninfo, "select exists (select from pg_stat_activity where datid = d and wait_event_type = 'Lock') from here"
    )


def _until_nobody_else_is_connected(conninfo: str) -> None:
    _poll(
        conninfo,
        "select not exists (select from pg_stat_activity where datid = d and pid <> pg_backend_pid()) from here",
    )


def _poll(conninfo: str, question: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    with psycopg.connect(conninfo, autocommit=True) as connection:
        here = "with here as (select oid as d from pg_database where datname = current_database()) "
        while not connection.execute((here + question).encode()).fetchall()[0][0]:
            assert time.monotonic() < deadline
            threading.Event().wait(0.02)


def test_a_process_does_not_wait_for_ever_for_another(database: NewDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT_S", 0.1)
    made = database()
    with psycopg.connect(made.conninfo) as other:
        other.execute("select pg_advisory_xact_lock(%s)", (migrate.LOCK_KEY,))

        with pytest.raises(StoreUnavailable):
            migrate.upgrade(made.url)


def test_a_database_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        migrate.current("postgresql://nobody@localhost:1/nothing")


@pytest.mark.parametrize(
    "url", ["mysql://user:pa55word@host/db", "pa55word", "postgresql://user:pa55word@host:port/db"]
)
def test_a_url_that_is_no_postgres_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        migrate.current(url)

    assert "pa55word" not in str(error.value)


async def test_a_database_that_was_never_migrated_is_a_matter_of_configuration(database: NewDatabase) -> None:
    connected = Database(database().url)

    with pytest.raises(ConfigurationError, match="inquest migrate"):
        await connected.rows("select inquest.claim('me', '{}')", {})

    await connected.aclose()


def test_every_script_is_listed_by_one_version() -> None:
    listed = [
        name
        for version in (migrations_dir() / "versions").glob("*.py")
        for name in re.findall(r'"(\d{4}_\w+\.sql)"', version.read_text(encoding="utf-8"))
    ]

    assert sorted(listed) == sorted(path.name for path in Path(migrations_dir() / "sql").iterdir())


def test_every_function_of_the_queue_is_pinned_to_its_schema(database: NewDatabase) -> None:
    made = database()
    migrate.upgrade(made.url)

    with psycopg.connect(made.conninfo) as connection:
        pins = connection.execute(
            "select distinct p.proconfig from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
            " where n.nspname = 'procrastinate' and p.prokind = 'f'"
        ).fetchall()

    assert pins == [(["search_path=procrastinate, pg_temp"],)]


def test_the_queue_takes_a_job_from_any_search_path(database: NewDatabase) -> None:
    made = database()
    migrate.upgrade(made.url)

    with psycopg.connect(made.conninfo, options="-csearch_path=inquest") as connection:
        connection.execute("select inquest.ring_next('acme')")
        connection.execute("select inquest.ring_target('t')")
        jobs = connection.execute("select status::text, args from procrastinate.procrastinate_jobs").fetchall()

    assert jobs == [("todo", {"id": "t"})]


def test_the_kinds_of_events_are_those_of_the_domain(database: NewDatabase) -> None:
    made = database()
    migrate.upgrade(made.url)

    with psycopg.connect(made.conninfo) as connection:
        [(check,)] = connection.execute(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = 'event_kind_is_known'"
        ).fetchall()

    kinds = {member.model_fields["kind"].default for member in get_args(get_args(EventBody)[0])}
    assert set(re.findall(r"'(\w+)'", check)) == kinds
