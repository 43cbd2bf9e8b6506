"""Real Postgres for tests: one embedded server a test process, and a database of its own for each test.

    def test_something(database: NewDatabase) -> None:
        url = database().url

A database is a clone of a template that is made once in a process. What is in the template
is up to the fixture `template_maker`: our schema, unless a conftest gives another.
"""

import contextlib
import functools
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from inquest.store.embedded import EmbeddedPostgres, EmbeddedPostgresError, start
from inquest.store.embedded.locks import nobody_is_attached

# Nothing in these databases has to survive the machine.
SETTINGS = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}

PREFIX = "inquest-postgres-for-tests-"
_ABANDONED_AFTER_S = 600.0

# Cloning a database makes some 300 files: 15 ms in memory, 20 times that on a slow disk.
_MEMORY = Path("/dev/shm")  # noqa: S108 - only mkdtemp makes folders in it
_ENOUGH_MEMORY_BYTES = 1024**3

TemplateMaker = Callable[[str], None]
"""Fills the empty database at a SQLAlchemy URL, and leaves no connection to it."""


@dataclass(frozen=True)
class Database:
    """An empty copy of the template."""

    name: str
    url: str  # for SQLAlchemy
    conninfo: str  # for psycopg


NewDatabase = Callable[[], Database]


class Databases:
    """The databases of one server."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self._template = functools.cache(self._make_template)

    def clone(self, maker: TemplateMaker) -> Database:
        """Give a new database like the one that `maker` made; it is asked once."""
        return self._create(f"test_{next(self._numbers)}", template=self._template(maker))

    def drop(self, database: Database) -> None:
        """Drop it, whoever is still connected."""
        self._execute(SQL("drop database {} with (force)").format(Identifier(database.name)))

    def _make_template(self, maker: TemplateMaker) -> str:
        template = self._create(f"template_{next(self._numbers)}", template="template0")
        maker(template.url)
        return template.name

    def _create(self, name: str, template: str) -> Database:
        self._execute(
            SQL("create database {} template {} strategy file_copy").format(Identifier(name), Identifier(template))
        )
        return Database(name, self._server.sqlalchemy_url(name), make_conninfo(self._server.conninfo, dbname=name))

    def _execute(self, statement: psycopg.sql.Composed) -> None:
        with psycopg.connect(self._server.conninfo, autocommit=True) as connection:
            connection.execute(statement)


def _migrate(url: str) -> None:
    from inquest.store.migrate import upgrade

    upgrade(url)


@pytest.fixture(scope="session")
def template_maker() -> TemplateMaker:
    """Give what fills the template; override it in a conftest or a test module."""
    return _migrate


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """Give the server of this test process."""
    folder = fast_folder()
    sweep(folder)
    base = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    with start(base, settings=SETTINGS) as server:
        yield server
    shutil.rmtree(base)


@pytest.fixture(scope="session")
def databases(postgres_server: EmbeddedPostgres) -> Databases:
    """Give the databases of this test process."""
    return Databases(postgres_server)


@pytest.fixture
def database(databases: Databases, template_maker: TemplateMaker) -> Iterator[NewDatabase]:
    """Give a function that makes databases; they are dropped after the test."""
    made: list[Database] = []

    def new_database() -> Database:
        made.append(databases.clone(template_maker))
        return made[-1]

    yield new_database
    for used in made:
        databases.drop(used)


def fast_folder() -> Path:
    """Give a folder in memory if there is room (Docker gives 64 MB), else the usual temporary folder."""
    if os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free >= _ENOUGH_MEMORY_BYTES:
        return _MEMORY
    return Path(tempfile.gettempdir())


def sweep(folder: Path) -> None:
    """Stop the servers and remove the folders of test processes that were killed."""
    for base in folder.glob(f"{PREFIX}*"):
        # Another test process may sweep the same folder.
        with contextlib.suppress(FileNotFoundError, EmbeddedPostgresError):
            found = base.stat()
            if found.st_uid == os.geteuid() and time.time() - found.st_mtime > _ABANDONED_AFTER_S:
                _remove_unless_in_use(base)


def _remove_unless_in_use(base: Path) -> None:
    users = base / "server" / "users.lock"
    if users.exists():
        if not nobody_is_attached(users):
            return
        start(base, settings=SETTINGS).stop()
    shutil.rmtree(base)
