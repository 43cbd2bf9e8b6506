import os
import signal
import subprocess
import sys
from pathlib import Path
from shutil import copy

import pytest

from tools.setup_venv import Environment
from tools.tree import ROOT, house_files

INSTALL_TIMEOUT_S = 300


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A sound environment, without the packages: they are not what is looked at."""
    made = Environment(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made.folder], check=True)
    site_packages = next(made.folder.glob("lib/python*/site-packages"))
    (site_packages / "pip.py").touch()
    assert made.is_sound()
    return made


def test_no_environment_is_not_a_sound_one(tmp_path: Path) -> None:
    assert not Environment(tmp_path).is_sound()


def test_an_interrupted_run_leaves_an_environment_that_is_not_trusted(environment: Environment) -> None:
    environment.unfinished.touch()
    assert not environment.is_sound()


def test_an_environment_whose_interpreter_is_gone_or_fails_is_not_trusted(environment: Environment) -> None:
    environment.python.unlink()
    assert not environment.is_sound()
    environment.python.write_text("#!/bin/sh\nexit 1\n")
    assert not environment.is_sound()
    environment.python.chmod(0o755)
    assert not environment.is_sound()


def test_an_environment_made_in_another_folder_is_not_trusted(environment: Environment) -> None:
    environment.made_in.write_text(str(environment.root))
    assert environment.is_sound()
    environment.made_in.write_text("/elsewhere")
    assert not environment.is_sound()


def test_a_linked_environment_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / ".venv").symlink_to("precious")
    with pytest.raises(SystemExit, match="is a link"):
        Environment(tmp_path).make()
    assert (tmp_path / "precious").is_dir()


@pytest.mark.e2e
def test_a_killed_make_is_repaired_by_the_next_and_the_one_after_does_nothing(tmp_path: Path) -> None:
    for path in house_files():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / path, tmp_path / path)
    make = ["make", ".venv/ready-runtime"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    first = subprocess.Popen(make, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert first.stdout
    with first.stdout:
        assert any("installing" in line for line in first.stdout)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert (tmp_path / ".venv/unfinished").exists()

    def make_again() -> str:
        return subprocess.run(
            make, cwd=tmp_path, env=env, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S
        ).stdout

    assert "making it anew" in make_again()
    assert not (tmp_path / ".venv/unfinished").exists()
    show = [str(tmp_path / ".venv/bin/python"), "-I", "-c", "import inquest, fastapi; print(inquest.__file__)"]
    shown = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    assert shown.strip() == str(tmp_path / "app/inquest/__init__.py")
    assert "up to date" in make_again()
