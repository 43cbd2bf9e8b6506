"""Where everything lies: the database, given or embedded, and the installation key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from inquest.errors import ConfigurationError, StoreUnavailable
from inquest.runtime.keys import InstallationKey, load, load_or_make
from inquest.settings import Settings
from inquest.store import embedded, migrate

DATABASE = "postgres"
KEY_NAME = "installation.key"


@dataclass(frozen=True)
class Home:
    """The database's SQLAlchemy URL, which may hold a password, the key, and whether the database is our own."""

    url: str = field(repr=False)
    key: InstallationKey
    is_embedded: bool
    keep_alive: Callable[[], None]
    """Starts an embedded database again that somebody killed. Blocks while it starts."""


@contextmanager
def open_home(settings: Settings, *, upgrade: bool = False) -> Iterator[Home]:
    """Give the home of this process, and leave it at the end; the last process stops an embedded database.

    An embedded database is always brought to this release, a given one only with `upgrade`: its schema may
    belong to another user, and other processes may run on it. Raises ConfigurationError naming what to set
    or run, StoreUnavailable, EmbeddedPostgresError.
    """
    key = installation_key(settings)
    if settings.database_url is not None:
        with open_database(settings, upgrade=upgrade) as url:
            yield Home(url=url, key=key, is_embedded=False, keep_alive=_nothing)
        return
    with _Embedded(_folder(settings)) as server:
        yield Home(url=server.url, key=key, is_embedded=True, keep_alive=server.keep_alive)


@contextmanager
def open_database(settings: Settings, *, upgrade: bool = False) -> Iterator[str]:
    """Give the URL of the database alone, for what needs no key. As `open_home` otherwise."""
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        with _named("INQUEST_DATABASE_URL"):
            bring_up(url, upgrade=upgrade)
        yield url
        return
    with _Embedded(_folder(settings)) as server:
        yield server.url


def _nothing() -> None:
    """Do nothing: whoever runs a given database keeps it alive."""


def _folder(settings: Settings) -> Path:
    return settings.home.absolute() / "postgres"


class _Embedded:
    """A share in the embedded server, with the schema of this release."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        self._server = embedded.start(self._folder)
        try:
            bring_up(self.url, upgrade=True)
        except BaseException:
            self._server.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """Give its SQLAlchemy URL."""
        return self._server.sqlalchemy_url(DATABASE)

    def keep_alive(self) -> None:
        """Take a second share, which starts a server that is gone, and give the first one back."""
        before, self._server = self._server, embedded.start(self._folder)
        before.stop()


def bring_up(url: str, *, upgrade: bool) -> None:
    """See to it that the schema is this release's. Raises ConfigurationError saying what to run."""
    found, needed = migrate.current(url), migrate.head()
    if found == needed:
        return
    if found is not None and not migrate.is_known(found):
        msg = f"its schema is {found}, which is newer than this release ({needed}): run a newer Inquest"
        raise ConfigurationError(msg)
    if not upgrade:
        msg = f"its schema is {found or 'missing'}, this release needs {needed}; run: inquest migrate"
        raise ConfigurationError(msg)
    migrate.upgrade(url)


@contextmanager
def _named(variable: str) -> Iterator[None]:
    """Let what the database refuses name the variable, and say in our words why it cannot be reached."""
    try:
        yield
    except ConfigurationError as error:
        msg = f"{variable}: {error}"
        raise ConfigurationError(msg) from error
    except StoreUnavailable as error:
        msg = f"{variable}: {_why(error)}"
        raise StoreUnavailable(msg) from error


_REASONS = (
    ("password authentication failed", "the database refuses this user or password"),
    ("no pg_hba.conf entry", "the database does not take this user from this machine"),
    ('" does not exist', "there is no such database or user"),
    ("resolve host", "its host cannot be found"),
    ("translate host", "its host cannot be found"),
    ("refused", "nothing listens at its host and port"),
    ("No such file", "no Postgres has its socket there"),
    ("timeout", "it does not answer"),
    ("SSL", "no encrypted connection can be made as it asks"),
)


def _why(error: StoreUnavailable) -> str:
    """Say why, in words of ours: the driver's may repeat parts of a URL that was written wrongly, its password too."""
    said = str(error.__cause__)
    return next((ours for theirs, ours in _REASONS if theirs in said), str(error))


def installation_key(settings: Settings) -> InstallationKey:
    """Read the key file. Only with an embedded database may a missing one be made: there is one process home.

    Raises ConfigurationError naming what to set, and how to make a key.
    """
    if settings.database_url is None:
        return load_or_make(settings.key_file or settings.home.absolute() / KEY_NAME)
    if settings.key_file is None:
        msg = (
            "INQUEST_KEY_FILE: a shared database needs a key that all workers share; make one with "
            "openssl rand -hex 32 > inquest.key && chmod 600 inquest.key"
        )
        raise ConfigurationError(msg)
    return load(settings.key_file)
