"""The one exception of the embedded Postgres."""

from collections.abc import Iterator
from contextlib import contextmanager

from inquest.errors import InquestError


class EmbeddedPostgresError(InquestError):
    """The embedded Postgres cannot be started, attached to or stopped; the message says what to look at."""


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Turn what the operating system refuses while we `action` into EmbeddedPostgresError, cause kept."""
    try:
        yield
    except OSError as refused:
        raise EmbeddedPostgresError(f"cannot {action}: {refused}") from refused
