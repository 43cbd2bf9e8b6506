"""An installation in a temporary folder: the embedded Postgres as it ships, and real processes of ours on it.

Whatever is started is stopped at the end of its `with`, by its process id; the folder goes last. A bench that is
killed takes everything with it: its children end when the pipe to them is closed, and a guard stops Postgres.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo

from bench.errors import BenchBroken
from bench.guard import guarded, postgres_of
from inquest.bootstrap.home import DATABASE, bring_up
from inquest.domain.intake import MAX_NEW_PER_HOUR
from inquest.entrypoints.cli.attended import ATTENDED
from inquest.settings import child_environment
from inquest.store import embedded

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
READY_S = 120.0
STOP_S = 40.0
POLL_S = 0.02
SHOWN_LOG_CHARS = 2_000
INTAKE = "alertmanager"
_TOKEN_FILE = "intake-token.txt"  # noqa: S105  # the name of a file


def until(reached: Callable[[], bool], what: str, patience_s: float = READY_S) -> None:
    """Wait until `reached`. Raises BenchBroken when it takes longer than `patience_s`."""
    gives_up_at = time.monotonic() + patience_s
    while not reached():
        if time.monotonic() >= gives_up_at:
            raise BenchBroken(f"{what}: not within {patience_s:g} s")
        time.sleep(POLL_S)


@dataclass(frozen=True)
class Running:
    """One process, and where it writes its output."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path

    def said(self) -> str:
        """Give what it has printed so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def must_live(self) -> None:
        """Raise BenchBroken with the end of its output when it has ended."""
        code = self.process.poll()
        if code is not None:
            raise BenchBroken(f"{self.name} ended with {code}:\n{self.said()[-SHOWN_LOG_CHARS:]}")

    def has_said(self, word: str) -> bool:
        """Say whether `word` is in its output. Raises BenchBroken when it has ended."""
        self.must_live()
        return word in self.said()


@contextmanager
def running(name: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[Running]:
    """Run a process for the length of a `with`. It is asked to end, and killed when that takes too long.

    It has to end when its standard input is closed.
    """
    output = folder / f"{name}.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            arguments,
            stdout=log,
            stderr=log,
            stdin=subprocess.PIPE,  # never written to: the child ends when it is closed
            cwd=ROOT,
            env=child_environment(environment, own=False),
        )
    try:
        yield Running(name, process, output)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()  # closes the pipe


@dataclass(frozen=True)
class Installation:
    """A folder with a configuration and a running Postgres."""

    folder: Path
    port: int
    conninfo: str
    url: str
    token: str = field(repr=False)

    @property
    def home(self) -> Path:
        """Give where the database and the key are."""
        return self.folder / "home"

    @property
    def path(self) -> str:
        """Give the path of the intake."""
        return f"/v1/alerts/{INTAKE}"

    @property
    def configuration(self) -> Path:
        """Give its configuration file."""
        return self.folder / "inquest.yaml"

    @property
    def environment(self) -> dict[str, str]:
        """Give what its processes are told."""
        return {
            "INQUEST_HOME": str(self.home),
            "INQUEST_CONFIG": str(self.configuration),
            "INQUEST_HOST": HOST,
            "INQUEST_PORT": str(self.port),
        }

    def configure(self, **section: object) -> None:
        """Write the configuration: one workspace, "default", with `section` beside its intake and its folder.

        The hourly limit of new investigations is as high as it goes, unless `section` says otherwise.
        """
        workspace = {
            "intakes": {INTAKE: {"type": "alertmanager", "auth": {"bearer_file": _TOKEN_FILE}}},
            "destinations": {"reports": {"type": "folder", "path": "reports"}},
            "budgets": {"max_new_per_hour": MAX_NEW_PER_HOUR},
            **section,
        }
        content = {"version": 1, "workspaces": {"default": workspace}}
        (self.folder / _TOKEN_FILE).write_text(self.token, encoding="utf-8")
        self.configuration.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML

    @contextmanager
    def serving(self) -> Iterator[Running]:
        """Run `inquest serve`; it takes alerts inside the `with`."""
        with running("serve", ours("serve", ATTENDED), self.folder, self.environment) as process:
            until(lambda: self._is_ready(process), "inquest serve is ready")
            yield process

    @contextmanager
    def working(self, name: str = "work") -> Iterator[Running]:
        """Run `inquest work`; it claims inside the `with`. `name` is that of its log."""
        with running(name, ours("work", ATTENDED), self.folder, self.environment) as process:
            until(lambda: process.has_said("worker_started"), "inquest work is ready")
            yield process

    def rows(self, query: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
        """Look at the database."""
        with psycopg.connect(self.conninfo, autocommit=True, options="-csearch_path=inquest") as connection:
            return connection.execute(query, parameters).fetchall()

    def value(self, query: LiteralString, *parameters: object) -> Any:  # noqa: ANN401  # a column's type
        """Look at one value."""
        ((found,),) = self.rows(query, *parameters)
        return found

    def _is_ready(self, process: Running) -> bool:
        process.must_live()
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)  # noqa: PLR2004  # OK
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


def ours(*arguments: str) -> list[str]:
    """Give the command that runs this checkout's `inquest`."""
    return [sys.executable, "-m", "inquest", *arguments]


def free_port() -> int:
    """Give a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="inquest-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a guard may be at it too


@contextmanager
def installation(settings: Mapping[str, str] | None = None) -> Iterator[Installation]:
    """Make one for the length of a `with`, with the schema of this release. `settings` are Postgres's own."""
    with _folder() as folder, guarded(folder), embedded.start(postgres_of(folder), settings=settings) as server:
        url = server.sqlalchemy_url(DATABASE)
        bring_up(url, upgrade=True)
        conninfo = make_conninfo(server.conninfo, dbname=DATABASE)
        one = Installation(folder, free_port(), conninfo, url, secrets.token_hex(16))
        one.configure()
        yield one
