from pathlib import Path

import pytest

from inquest import resources
from inquest.errors import ConfigurationError
from inquest.resources import config_dir, migrations_dir


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty installation: ROOT/app/inquest, as `resources` would see it from inside."""
    package = tmp_path / "app/inquest"
    package.mkdir(parents=True)
    monkeypatch.setattr(resources, "_PACKAGE", package)
    monkeypatch.setattr(resources, "_REPOSITORY", tmp_path)
    return tmp_path


def test_a_checkout_has_the_folders_beside_its_app_folder(installed: Path) -> None:
    (installed / "migrations").mkdir()
    (installed / "config").mkdir()
    assert (migrations_dir(), config_dir()) == (installed / "migrations", installed / "config")


def test_a_wheel_has_the_folders_inside_the_package(installed: Path) -> None:
    package = installed / "app/inquest"
    (package / "_migrations").mkdir()
    (package / "_config").mkdir()
    assert (migrations_dir(), config_dir()) == (package / "_migrations", package / "_config")


def test_an_install_without_them_says_where_it_looked(installed: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is neither .*/app/inquest/_config nor .*/config; install"):
        config_dir()
