"""The wheel that the image installs has all that a process needs, and runs without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.postgres import Databases

UV = Path(sys.executable).parent / "uv"
SAYS_WHERE = "import inquest.resources as r; print(r.migrations_dir(), r.config_dir())"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package as the Dockerfile does, into a folder without what it depends on."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [UV, "pip", "install", "--offline", "--no-cache", "--python", sys.executable, "--target", target,
         "--no-build-isolation", "--no-deps", ROOT],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    return target


def python(installed: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the installed package before the checkout's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("INQUEST_")}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=installed,
        env={**inherited, "PYTHONPATH": str(installed), **environment},
    )  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("name", ["migrations", "config"])
def test_the_wheel_has_every_migration_prompt_and_example(installed: Path, name: str) -> None:
    assert files(installed / f"inquest/_{name}") == files(ROOT / name)


def test_an_installed_package_takes_its_own_files(installed: Path) -> None:
    said = python(installed, "-c", SAYS_WHERE).stdout.split()
    assert said == [str(installed / "inquest/_migrations"), str(installed / "inquest/_config")]


def test_an_installed_package_makes_its_schema(installed: Path, databases: Databases) -> None:
    empty = databases.clone(lambda _: None)
    try:
        done = python(installed, "-m", "inquest", "migrate", INQUEST_DATABASE_URL=empty.url)
        assert (done.returncode, done.stdout.startswith("the database is at version")) == (0, True), done.stderr
        again = python(installed, "-m", "inquest", "migrate", INQUEST_DATABASE_URL=empty.url)
        assert again.stdout == done.stdout
    finally:
        databases.drop(empty)
