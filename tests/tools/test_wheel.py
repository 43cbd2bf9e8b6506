"""What a built wheel carries, and that an installed one finds it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.tree import ROOT, house_files

SHOW = "from inquest.resources import *; print(migrations_dir(), config_dir(), sep='\\n')"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from the files of the checkout alone: an ignored file in the working tree must not ship."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built


def shipped_name(path: Path) -> str:
    first, *rest = path.parts
    return "/".join(rest if first == "app" else ["inquest", f"_{first}", *rest])


def test_a_wheel_carries_the_code_the_migrations_and_the_configuration_and_nothing_else(wheel: Path) -> None:
    ours = {shipped_name(path) for path in house_files() if path.parts[0] in {"app", "migrations", "config"}}
    carried = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert carried == ours


def test_an_installed_wheel_finds_its_own_folders(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    # PYTHONPATH comes before the .pth line of the editable install.
    shown = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, check=True, capture_output=True
    )
    assert shown.stdout.decode().splitlines() == [f"{tmp_path}/inquest/_migrations", f"{tmp_path}/inquest/_config"]
