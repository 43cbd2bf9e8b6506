import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inquest.entrypoints.cli.commands import run
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.server import RecordedBackend, start
from inquest.store.migrate import upgrade
from tests.entrypoints.cli.running import Cli, environment, write_configuration
from tests.postgres import Databases, NewDatabase


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Give the command line of an installation in a folder of its own."""
    return Cli(tmp_path, monkeypatch, capfd)


@pytest.fixture(scope="session")
def backend() -> Iterator[RecordedBackend]:
    """Give a recorded incident whose sources answer on loopback."""
    with start(open_scenario("checkout_pool"), now=datetime.now(UTC)) as running:
        yield running


@pytest.fixture
def on_call(cli: Cli, backend: RecordedBackend, database: NewDatabase) -> Cli:
    """Give a command line with a database, a configuration whose Prometheus is recorded, and its alert."""
    cli.use(database())
    cli.configure(backend.prometheus_url)
    (cli.folder / "alert.json").write_bytes(backend.alert)
    return cli


@dataclass(frozen=True)
class Incident:
    """An incident that was investigated once: `fill` makes a database with it, `folder` has what else it left."""

    folder: Path
    fill: Callable[[str], None]


@pytest.fixture(scope="session")
def incident(backend: RecordedBackend, tmp_path_factory: pytest.TempPathFactory) -> Incident:
    """Give one that is investigated when its first database is asked for."""
    folder = tmp_path_factory.mktemp("incident")
    write_configuration(folder, backend.prometheus_url)
    (folder / "alert.json").write_bytes(backend.alert)

    def fill(url: str) -> None:
        upgrade(url)
        before = dict(os.environ)
        os.environ.update({f"INQUEST_{name}": value for name, value in environment(folder, url).items()})
        try:
            files = ["--config", str(folder / "inquest.yaml")]
            assert run(["investigate", str(folder / "alert.json"), *files, "--json"]) == 0
        finally:
            os.environ.clear()
            os.environ.update(before)

    return Incident(folder, fill)


@pytest.fixture
def after_it(cli: Cli, incident: Incident, databases: Databases) -> Iterator[Cli]:
    """Give a command line with the incident investigated and its report delivered."""
    made = databases.clone(incident.fill)
    cli.use(made)
    for name in ("inquest.yaml", "alert.json"):
        shutil.copy(incident.folder / name, cli.folder / name)
    shutil.copytree(incident.folder / "reports", cli.folder / "reports")
    yield cli
    databases.drop(made)
