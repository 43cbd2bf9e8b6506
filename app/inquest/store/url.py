"""The one way to read a database URL."""

from __future__ import annotations

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from inquest.errors import ConfigurationError

DRIVER = "postgresql+psycopg"
_ALIASES = frozenset({"postgres", "postgresql", DRIVER})


def driver_url(url: str) -> URL:
    """Give `url` for SQLAlchemy with our driver; "postgres://" is taken too.

    Raises ConfigurationError without repeating the URL: it may hold a password.
    """
    try:
        parsed = make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url)
    except (ArgumentError, ValueError):
        raise ConfigurationError("the database URL cannot be read; use postgresql://user@host/name") from None
    if parsed.drivername not in _ALIASES:
        raise ConfigurationError(f"the database URL starts with {parsed.drivername!r}; use postgresql://user@host/name")
    return parsed.set(drivername=DRIVER)


def conninfo(url: str) -> str:
    """Give `url` as libpq reads it, for psycopg without SQLAlchemy (Procrastinate, the lease's own thread)."""
    return driver_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
