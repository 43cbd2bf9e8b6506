from pathlib import Path

import pytest

from tools.check_pth import SETUPTOOLS, problems


def site_packages(root: Path, **files: str) -> Path:
    folder = root / "site-packages"
    folder.mkdir()
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def test_the_known_files_pass(tmp_path: Path) -> None:
    folder = site_packages(tmp_path, _inquest__pth=f"{tmp_path}/app")
    (folder / "distutils-precedence.pth").write_text(SETUPTOOLS)
    (folder / "harmless.py").write_text("")
    assert problems(tmp_path, (folder,)) == []


@pytest.mark.parametrize("name", ["litellm_init.pth", "zz.pth", "sitecustomize.py", "usercustomize.py"])
def test_an_unknown_startup_file_is_reported(tmp_path: Path, name: str) -> None:
    folder = site_packages(tmp_path)
    (folder / name).write_text("import os\n")
    assert problems(tmp_path, (folder,)) == [f"{folder / name} runs at every start of Python and is not known"]


def test_a_startup_package_is_reported(tmp_path: Path) -> None:
    folder = site_packages(tmp_path)
    (folder / "sitecustomize").mkdir()
    assert problems(tmp_path, (folder,)) == [f"{folder}/sitecustomize runs at every start of Python and is not known"]


@pytest.mark.parametrize("name", ["_inquest.pth", "distutils-precedence.pth"])
@pytest.mark.parametrize("more", ["\nimport os", "\n/elsewhere"])
def test_a_known_name_does_not_excuse_another_content(tmp_path: Path, name: str, more: str) -> None:
    folder = site_packages(tmp_path)
    known = {"_inquest.pth": f"{tmp_path}/app", "distutils-precedence.pth": SETUPTOOLS}
    (folder / name).write_text(known[name] + more)
    assert problems(tmp_path, (folder,)) == [f"{folder / name} has a known name and an unknown content"]
