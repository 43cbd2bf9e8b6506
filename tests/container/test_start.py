"""container/start.sh, run as the image would run it, but for the container: a home, secrets in files, a program to start."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from inquest.runtime.keys import load
from tests.docs.pages import ROOT

SCRIPT = ROOT / "container/start.sh"
INQUEST = """#!/bin/sh
echo "$INQUEST_KEY_FILE" "$@"
exit 7
"""
Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def start(tmp_path: Path, home: Path) -> Start:
    """Give what runs the script, with a program `inquest` that says how it was called."""
    (tmp_path / "inquest").write_text(INQUEST)
    (tmp_path / "inquest").chmod(0o755)

    def started(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60, check=False,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(home), **environment},
        )  # fmt: skip

    return started


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_command_is_started_with_its_arguments_and_gives_its_exit_code(start: Start, home: Path) -> None:
    done = start("work", "--config", "a b")
    assert (done.returncode, done.stdout) == (7, f"{home}/installation.key work --config a b\n")


def test_the_first_start_makes_a_key_that_is_taken_and_the_next_keeps_it(start: Start, home: Path) -> None:
    start("up")
    first = load(home / "installation.key")
    start("up")
    assert load(home / "installation.key") == first
    assert mode(home / "installation.key") == 0o600
    assert [path.name for path in home.iterdir()] == ["installation.key"]


def test_a_key_that_is_given_is_used_and_none_is_made(start: Start, home: Path, tmp_path: Path) -> None:
    (tmp_path / "given.key").write_text("ab" * 32)
    assert start("up", INQUEST_KEY_FILE=str(tmp_path / "given.key")).stdout == f"{tmp_path}/given.key up\n"
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("start")
def test_of_starts_at_the_same_time_all_have_the_same_key(home: Path) -> None:
    (home.parent / "inquest").write_text('#!/bin/sh\nprintf "%s\\n" "$(cat "$INQUEST_KEY_FILE")"\n')
    script = f"for n in 1 2 3 4 5 6 7 8; do sh {SCRIPT} & done; wait"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": f"{home.parent}:/usr/bin:/bin", "HOME": str(home)},
    )  # fmt: skip
    assert (done.stdout.split(), done.stderr) == ([(home / "installation.key").read_text()] * 8, "")
    assert [path.name for path in home.iterdir()] == ["installation.key"]


@pytest.mark.parametrize(
    ("password", "written"),
    [("f00d", "f00d"), ("f00d\n", "f00d"), ("a:b\\c", "a\\:b\\\\c"), ("with space $HOME", "with space $HOME")],
)
def test_the_password_is_written_where_libpq_looks_for_it(
    start: Start, home: Path, tmp_path: Path, password: str, written: str
) -> None:
    (tmp_path / "password").write_text(password)
    for _ in range(2):
        start("up", POSTGRES_PASSWORD_FILE=str(tmp_path / "password"))
        assert (home / ".pgpass").read_text() == f"*:*:*:*:{written}\n"
        assert mode(home / ".pgpass") == 0o600


def test_a_password_file_that_is_missing_is_named_and_nothing_is_started(start: Start) -> None:
    done = start("up", POSTGRES_PASSWORD_FILE="/run/secrets/postgres_password")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("POSTGRES_PASSWORD_FILE: /run/secrets/postgres_password cannot be read by ")
