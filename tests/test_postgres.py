import contextlib
import os
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from inquest.store.embedded import EmbeddedPostgres, start
from inquest.store.url import conninfo, driver_url
from tests.postgres import PREFIX, SETTINGS, Databases, NewDatabase, TemplateMaker, sweep

made: list[str] = []


def make_greeting(url: str) -> None:
    made.append(url)
    with psycopg.connect(conninfo(url)) as connection:
        connection.execute("create table greeting as select 'hello' as word")


@pytest.fixture(scope="session")
def template_maker() -> TemplateMaker:
    return make_greeting


def words(conninfo: str) -> list[str]:
    with psycopg.connect(conninfo) as connection:
        return [row[0] for row in connection.execute("select word from greeting")]


def test_each_database_is_a_clone_of_a_template_made_once(database: NewDatabase) -> None:
    first, second = database(), database()
    with psycopg.connect(first.conninfo) as connection:
        connection.execute("update greeting set word = 'bye'")
    assert (words(first.conninfo), words(second.conninfo)) == (["bye"], ["hello"])
    assert len(made) == 1


async def test_its_url_serves_sqlalchemy(database: NewDatabase) -> None:
    clone = database()
    engine = create_async_engine(driver_url(clone.url))
    async with engine.connect() as connection:
        assert (await connection.execute(text("select current_database()"))).scalar() == clone.name
    await engine.dispose()


def test_a_database_is_dropped_although_somebody_is_still_connected(
    postgres_server: EmbeddedPostgres, databases: Databases
) -> None:
    clone = databases.clone(make_greeting)
    with contextlib.closing(psycopg.connect(clone.conninfo)) as connection:
        databases.drop(clone)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    with psycopg.connect(postgres_server.conninfo) as connection:
        names = {row[0] for row in connection.execute("select datname from pg_database")}
    assert "postgres" in names
    assert clone.name not in names


def test_the_server_of_a_killed_test_process_is_swept_away(tmp_path: Path) -> None:
    abandoned, in_use, fresh = (make_base(tmp_path, name) for name in ("abandoned", "in-use", "fresh"))
    for old in (abandoned, in_use):
        os.utime(old, (0, 0))
    with start(in_use, settings=SETTINGS) as server:
        os.utime(in_use, (0, 0))
        sweep(tmp_path)
        assert (abandoned.exists(), in_use.exists(), fresh.exists()) == (False, True, True)
        with psycopg.connect(server.conninfo) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def make_base(folder: Path, name: str) -> Path:
    base = folder / f"{PREFIX}{name}"
    base.mkdir()
    return base
