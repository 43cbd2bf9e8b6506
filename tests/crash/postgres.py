"""The Postgres servers of the matrix, and a database of its own for each run, a clone of one migrated template."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from inquest.store.embedded import EmbeddedPostgres, start
from inquest.store.migrate import upgrade
from tests import postgres
from tests.postgres import fast_folder

SETTINGS = {"fsync": "off", "autovacuum": "off", "max_connections": "600", "shared_buffers": "96MB"}
"""What is killed here is a process, never the machine: what it has written is there."""
TEMPLATE = "matrix_template"
PREFIX = f"{postgres.PREFIX}crash-"
"""Tests that run later remove what a killed matrix has left."""


class Clone:
    """The database of one run, and a connection to look at it."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self.name = name
        self._looking = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None

    @property
    def url(self) -> str:
        """Give the URL that processes are told."""
        return self._server.postgres.sqlalchemy_url(self.name)

    @property
    def conninfo(self) -> str:
        """Give how psycopg reaches it."""
        return make_conninfo(self._server.postgres.conninfo, dbname=self.name)

    async def rows(self, query: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
        """Look at the database. Raises OperationalError while it is away."""
        async with self._looking:
            if self._connection is None or self._connection.closed:
                self._connection = await self.connect()
            return await (await self._connection.execute(query, parameters)).fetchall()

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        """Give a connection of the caller's own, in autocommit. Raises OperationalError while the database is away."""
        return await psycopg.AsyncConnection.connect(
            self.conninfo, autocommit=True, options="-csearch_path=inquest", connect_timeout=5
        )

    async def kill_and_restart(self) -> None:
        """Kill the server under everybody."""
        await self._server.kill_and_restart()

    async def aclose(self) -> None:
        """Look no more."""
        if self._connection is not None:
            await self._connection.close()

    async def value(self, query: LiteralString, *parameters: object) -> Any:  # noqa: ANN401  # a column's type
        """Look at one value."""
        ((found,),) = await self.rows(query, *parameters)
        return found


class Server:
    """One server, which can be killed and started again on the same files."""

    def __init__(self, base: Path, postgres: EmbeddedPostgres) -> None:
        self._base = base
        self.postgres = postgres
        self._numbers = itertools.count(1)
        self._cloning = asyncio.Lock()

    async def prepare(self, mutate: Callable[[str], None]) -> None:
        """Make the template, and let `mutate` change it by its connection string."""
        self._execute(SQL("create database {} template template0").format(Identifier(TEMPLATE)))
        await asyncio.to_thread(upgrade, self.postgres.sqlalchemy_url(TEMPLATE))
        mutate(make_conninfo(self.postgres.conninfo, dbname=TEMPLATE))

    @asynccontextmanager
    async def clone(self) -> AsyncIterator[Clone]:
        """Give a database for the length of a `with`."""
        name = f"run_{next(self._numbers)}"
        statement = SQL("create database {} template {} strategy file_copy")
        async with self._cloning:
            await asyncio.to_thread(self._execute, statement.format(Identifier(name), Identifier(TEMPLATE)))
        clone = Clone(self, name)
        try:
            yield clone
        finally:
            await clone.aclose()
            await asyncio.to_thread(self._execute, SQL("drop database {} with (force)").format(Identifier(name)))

    async def kill_and_restart(self) -> None:
        """Kill the server with -9, as a crash would, and start another on what it left."""
        (pid_file,) = self._base.rglob("postmaster.pid")
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
        before = self.postgres
        self.postgres = await asyncio.to_thread(start, self._base, settings=SETTINGS)
        before.stop()

    def _execute(self, statement: Composed) -> None:
        with psycopg.connect(self.postgres.conninfo, autocommit=True) as connection:
            connection.execute(statement)


@asynccontextmanager
async def server(mutate: Callable[[str], None]) -> AsyncIterator[Server]:
    """Run one for the length of a `with`."""
    base = Path(tempfile.mkdtemp(prefix=PREFIX, dir=fast_folder()))
    one = Server(base, await asyncio.to_thread(start, base, settings=SETTINGS))
    try:
        await one.prepare(mutate)
        yield one
    finally:
        await asyncio.to_thread(one.postgres.stop)
        shutil.rmtree(base)
