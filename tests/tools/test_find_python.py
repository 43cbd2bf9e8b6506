import subprocess
from pathlib import Path

import pytest

from tools.tree import ROOT

FAKE = """#!/bin/sh
case "$2" in
*platform*) echo {version} ;;
*version_info*) exit {unsupported} ;;
*ensurepip*) exit {bare} ;;
esac
"""
BROKEN = "#!/bin/sh\nexit 127\n"  # the shim of a version manager whose version is not chosen


def fake(version: str, *, bare: int = 0) -> str:
    supported = version.split(".")[1] in {"11", "12", "13"}
    return FAKE.format(version=version, unsupported=int(not supported), bare=bare)


def find(folder: Path, wanted: str = "", **pythons: str) -> subprocess.CompletedProcess[str]:
    for name, script in pythons.items():
        path = folder / name.replace("_", ".")
        path.write_text(script)
        path.chmod(0o755)
    command = ["/bin/sh", str(ROOT / "tools/find_python.sh")]
    env = {"PATH": str(folder), "PYTHON": wanted}
    return subprocess.run(command, env=env, check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3": fake("3.12.1"), "python3_13": fake("3.13.0")}, "python3"),
        ({"python3": fake("3.10.2"), "python3_11": fake("3.11.7")}, "python3.11"),
        ({"python3": fake("3.14.0"), "python3_13": fake("3.13.0")}, "python3.13"),
        ({"python3": BROKEN, "python3_12": BROKEN, "python3_11": fake("3.11.7")}, "python3.11"),
        ({"python3": fake("3.12.1", bare=1), "python": fake("3.11.7")}, "python"),
    ],
)
def test_the_first_python_that_runs_and_is_supported_is_chosen(
    tmp_path: Path, pythons: dict[str, str], chosen: str
) -> None:
    found = find(tmp_path, **pythons)
    assert (found.returncode, found.stdout.strip()) == (0, str(tmp_path / chosen))


def test_the_python_asked_for_is_the_only_one_considered(tmp_path: Path) -> None:
    found = find(tmp_path, wanted="python3.9", python3=fake("3.12.1"), python3_9=fake("3.9.1"))
    assert (found.returncode, found.stdout) == (1, "")
    assert "found: python3.9=3.9.1." in found.stderr


@pytest.mark.parametrize(
    ("pythons", "said"),
    [
        ({}, "found: none."),
        ({"python3": fake("3.10.2")}, "found: python3=3.10.2."),
        ({"python3": fake("3.15.0")}, "found: python3=3.15.0."),
        ({"python3": fake("3.11.2", bare=1)}, "found: python3=3.11.2(no-venv-module)."),
    ],
)
def test_without_a_supported_python_the_message_names_what_was_found_and_the_way_out(
    tmp_path: Path, pythons: dict[str, str], said: str
) -> None:
    found = find(tmp_path, **pythons)
    assert (found.returncode, found.stdout) == (1, "")
    assert said in found.stderr
    assert "make ... PYTHON=/path/to/python3.12" in found.stderr
