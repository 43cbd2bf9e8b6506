"""What the driver raises, in our words: only what may pass is worth trying again."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from inquest.errors import InquestError, InvariantBroken, StoreUnavailable
from inquest.store.refusals import translate
from tests.store.builders import Store


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        (psycopg.OperationalError("server closed the connection"), StoreUnavailable),
        (psycopg.InterfaceError("the connection is closed"), StoreUnavailable),
        (psycopg.errors.QueryCanceled(), StoreUnavailable),
        (psycopg.errors.AdminShutdown(), StoreUnavailable),
        (psycopg.ProgrammingError("the query has 2 placeholders but 1 parameters were passed"), InvariantBroken),
        (psycopg.NotSupportedError("server cursors are not"), InvariantBroken),
        (psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"), InvariantBroken),
        (psycopg.errors.UniqueViolation(), InvariantBroken),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else "",
)
def test_only_what_may_pass_is_an_absent_database(raised: psycopg.Error, ours: type[InquestError]) -> None:
    assert type(translate(DBAPIError("select", {}, raised))) is ours


def test_a_connection_that_broke_is_an_absent_database_whatever_was_raised() -> None:
    error = DBAPIError("select", {}, psycopg.ProgrammingError("odd"), connection_invalidated=True)
    assert type(translate(error)) is StoreUnavailable


async def test_a_parameter_that_the_driver_cannot_write_is_a_bug_of_ours(store: Store) -> None:
    with pytest.raises(InvariantBroken):
        await store.database.value("select %(what)s::text", {"what": object()})
