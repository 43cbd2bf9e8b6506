"""Bring a database to the schema of this release: all of it in one transaction, one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from inquest.errors import ConfigurationError, InvariantBroken, StoreUnavailable
from inquest.resources import migrations_dir
from inquest.store.url import driver_url

SCHEMA = "inquest"
VERSION_TABLE = "alembic_version"
LOCK_KEY = 0x1A9E57
"""The advisory lock of migrations: any constant that no other program of the database uses."""
LOCK_TIMEOUT_S = 120
"""How long a process waits for another one that migrates."""
CONNECT_TIMEOUT_S = 10


def upgrade(url: str) -> None:
    """Migrate the database at `url` to `head()`; one that is there already is left alone.

    Two processes at once are safe: the second waits and finds nothing to do. A process that dies in the
    middle leaves the database as it was. Raises StoreUnavailable, also when another process holds the
    lock for LOCK_TIMEOUT_S.
    """
    with _connected(url) as connection:
        connection.execute(text(f"set local lock_timeout = '{LOCK_TIMEOUT_S}s'"))
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": LOCK_KEY})
        connection.execute(text("set local lock_timeout = 0"))
        connection.execute(text(f"create schema if not exists {SCHEMA}"))
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def current(url: str) -> str | None:
    """Give the version of the database at `url`, None when it was never migrated. Raises StoreUnavailable."""
    with _connected(url) as connection:
        options = {"version_table": VERSION_TABLE, "version_table_schema": SCHEMA}
        return MigrationContext.configure(connection, opts=options).get_current_revision()


def head() -> str:
    """Give the version that this release needs."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    if newest is None:
        raise InvariantBroken("this release ships no migration")
    return newest


def is_known(version: str) -> bool:
    """Say whether this release has the migration `version`; one that it lacks is of a newer release."""
    return any(revision.revision == version for revision in ScriptDirectory.from_config(_config()).walk_revisions())


def execute_script(connection: Connection, script: str) -> None:
    """Run `script`, many statements, in the present transaction.

    Past SQLAlchemy and without parameters: a `%` in the script is then no placeholder, and the simple
    query protocol takes more than one statement.
    """
    driver = connection.connection.driver_connection
    if driver is None:
        raise InvariantBroken("the connection has no driver connection")
    driver.execute(script)


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    """Give a connection in one transaction, which is committed at the end."""
    engine = create_engine(driver_url(url), poolclass=NullPool, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    try:
        with engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        if error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _TRY_LATER:
            raise StoreUnavailable("the database cannot be reached or is being migrated by another process") from error
        if getattr(error.orig, "sqlstate", None) == _NOT_ALLOWED:
            raise ConfigurationError("this user may not change the schema; run inquest migrate as its owner") from error
        raise
    finally:
        engine.dispose()


_TRY_LATER = {None, "55P03", "57P01", "57P02", "57P03", "53300"}
"""No answer at all, lock not available, shutting down (twice), starting up, too many connections."""


_NOT_ALLOWED = "42501"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
