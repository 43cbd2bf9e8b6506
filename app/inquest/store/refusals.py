"""The one place that translates what the driver raises into our own errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import DataError, InterfaceError, OperationalError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from inquest.errors import (
    BudgetExhausted,
    ConfigurationError,
    FenceLost,
    FingerprintMismatch,
    Gone,
    Halted,
    IdentityMismatch,
    InquestError,
    InvariantBroken,
    NotFound,
    RoleMissing,
    StoreUnavailable,
    VersionConflict,
    WrongStatus,
)

OURS: dict[str, type[InquestError]] = {
    "IQF01": FenceLost,
    "IQV01": VersionConflict,
    "IQK01": FingerprintMismatch,
    "IQD01": IdentityMismatch,
    "IQN01": NotFound,
    "IQG01": Gone,
    "IQS01": WrongStatus,
    "IQR01": RoleMissing,
    "IQH01": Halted,
    "IQI01": InvariantBroken,
}
"""SQLSTATEs that the functions of `migrations/sql` raise; their messages are ours, without foreign text."""
CEILING = "IQB01"
_TRY_LATER = frozenset(
    {"40001", "40P01", "53200", "53300", "53400", "55P03", "57014", "57P01", "57P02", "57P03", "57P05"}
)
"""Serialisation, deadlock, out of memory or connections, lock or statement timeout, shutting down, starting up."""
_NOT_MIGRATED = frozenset({"3F000", "42P01", "42883", "42703"})
"""No such schema, table, function or column."""


@contextmanager
def translated() -> Iterator[None]:
    """Let only errors of `inquest.errors` out of a block that talks to the database; the cause is kept."""
    try:
        yield
    except DBAPIError as error:
        raise translate(error) from error
    except PoolTimeout as error:
        raise StoreUnavailable("no connection to the database became free in time") from error
    except UnicodeEncodeError as error:
        raise InvariantBroken("text with a lone surrogate; text passes the sanitiser first") from error


def translate(error: DBAPIError) -> InquestError:
    """Give our error for one of the driver's. The message never repeats a value of the statement."""
    sqlstate: str | None = getattr(error.orig, "sqlstate", None)
    if sqlstate == CEILING:
        return _ceiling(error)
    if sqlstate in OURS:
        return OURS[sqlstate](_message(error))
    if sqlstate is None and not error.connection_invalidated:
        return _of_the_driver(error.orig)
    if sqlstate is None or sqlstate in _TRY_LATER or sqlstate.startswith("08") or error.connection_invalidated:
        return StoreUnavailable(f"the database does not answer ({sqlstate or 'no connection'})")
    if sqlstate in _NOT_MIGRATED:
        return ConfigurationError(f"the database lacks what this release needs ({sqlstate}): run `inquest migrate`")
    return InvariantBroken(f"the database refused a statement ({sqlstate})")


def _of_the_driver(raised: BaseException | None) -> InquestError:
    """Translate what the server never saw: a broken connection may pass, anything else is a statement of ours."""
    if isinstance(raised, DataError):
        return InvariantBroken("a value that Postgres cannot hold, such as a NUL; text passes the sanitiser first")
    if isinstance(raised, OperationalError | InterfaceError):
        return StoreUnavailable("the database does not answer (no connection)")
    return InvariantBroken(f"the driver refused a statement ({type(raised).__name__})")


def _message(error: DBAPIError) -> str:
    diagnosis = getattr(error.orig, "diag", None)
    return str(getattr(diagnosis, "message_primary", None) or "refused")


def _ceiling(error: DBAPIError) -> BudgetExhausted:
    detail = json.loads(getattr(error.orig, "diag").message_detail)  # noqa: B009  # the driver's stub lacks it
    return BudgetExhausted(detail["ceiling"], used=float(detail["used"]), allowed=float(detail["allowed"]))
