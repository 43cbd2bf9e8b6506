"""The command line, run in this process as `inquest` runs it: what it prints, and its exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inquest.entrypoints.cli.commands import run
from inquest.runtime.keys import InstallationKey
from inquest.settings import Settings
from tests.bootstrap.files import OPEN_INTAKE, file_of, prometheus
from tests.postgres import Database

KEY = InstallationKey(bytes([11]) * 32)


def environment(folder: Path, url: str) -> dict[str, str]:
    """Give what a command is told to run on the database at `url`; makes the key file in `folder`."""
    key = folder / "given.key"
    key.write_text(KEY.seed.hex())
    key.chmod(0o600)
    return {"DATABASE_URL": url, "KEY_FILE": str(key), "HOME": str(folder / "home"), "LEASE_S": "2"}


def write_configuration(folder: Path, prometheus_url: str, **more: Any) -> None:  # noqa: ANN401  # any of its keys
    """Write inquest.yaml: one intake, one Prometheus, one folder for reports."""
    sections = {
        "intakes": {"am": OPEN_INTAKE},
        "integrations": {"prometheus": prometheus(prometheus_url)},
        "destinations": {"reports": {"type": "folder", "path": "reports"}},
    }
    (folder / "inquest.yaml").write_text(file_of(**{**sections, **more}))


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # JSON
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Give what was printed as lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def words(self) -> list[str]:
        """Give the word of each line of progress."""
        return [line.split()[1] for line in self.out.partition("\n# ")[0].splitlines()]


class Cli:
    """One installation: a folder, the environment of its commands, and what they print."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capfd = capfd
        for name in Settings.model_fields:
            monkeypatch.delenv(f"INQUEST_{name.upper()}", raising=False)
        monkeypatch.chdir(folder)
        self.set(HOME=str(folder / "home"))

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self._monkeypatch.setenv(f"INQUEST_{name}", value)

    def use(self, database: Database) -> None:
        """Run on a database of the test's, with a key file in the folder."""
        self.set(**environment(self.folder, database.url))

    def configure(self, prometheus_url: str, **more: Any) -> None:  # noqa: ANN401  # any of a section's keys
        write_configuration(self.folder, prometheus_url, **more)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, *arguments: str) -> Ran:
        self._capfd.readouterr()
        code = run(list(arguments))
        printed = self._capfd.readouterr()
        return Ran(code, printed.out, printed.err)

    @property
    def id(self) -> str:
        """Give the id of the newest investigation."""
        return str(self.run("list", "--json").json["investigations"][0]["id"])
