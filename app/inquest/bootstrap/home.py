"""Where everything lies: the database, given or embedded, brought to this release, and the installation key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inquest.errors import ConfigurationError
from inquest.runtime.keys import InstallationKey, load, load_or_make
from inquest.settings import Settings
from inquest.store import embedded, migrate

DATABASE = "postgres"
KEY_NAME = "installation.key"


@dataclass(frozen=True)
class Home:
    """The database's SQLAlchemy URL, the key, and whether the database is our own."""

    url: str
    key: InstallationKey
    is_embedded: bool


@contextmanager
def open_home(settings: Settings, *, upgrade: bool = True) -> Iterator[Home]:
    """Give the home of this process, and leave it at the end; the last process stops an embedded database.

    Without `upgrade` the schema must be there already. Raises ConfigurationError naming what to set or run,
    StoreUnavailable, EmbeddedPostgresError.
    """
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        _bring_up(url, upgrade=upgrade)
        yield Home(url=url, key=_key(settings, is_embedded=False), is_embedded=False)
        return
    with embedded.start(settings.home / "postgres") as server:
        url = server.sqlalchemy_url(DATABASE)
        _bring_up(url, upgrade=True)
        yield Home(url=url, key=_key(settings, is_embedded=True), is_embedded=True)


def _bring_up(url: str, *, upgrade: bool) -> None:
    if upgrade:
        migrate.upgrade(url)
        return
    found, needed = migrate.current(url), migrate.head()
    if found != needed:
        msg = f"INQUEST_DATABASE_URL: its schema is {found or 'missing'}, this release needs {needed}; run: inquest migrate"
        raise ConfigurationError(msg)


def _key(settings: Settings, *, is_embedded: bool) -> InstallationKey:
    """Read the key file. Only with an embedded database may a missing one be made: there is one process home."""
    if settings.key_file is not None and not is_embedded:
        return load(settings.key_file)
    if settings.key_file is not None:
        return load_or_make(settings.key_file)
    if not is_embedded:
        msg = (
            "INQUEST_KEY_FILE: a shared database needs a key that all workers share; make one with "
            "openssl rand -hex 32 > inquest.key && chmod 600 inquest.key"
        )
        raise ConfigurationError(msg)
    return load_or_make(_key_path(settings.home))


def _key_path(home: Path) -> Path:
    return home / KEY_NAME
