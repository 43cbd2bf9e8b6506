"""The crash points: how a process is armed, and that each stands where the table says, once a place."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from inquest import crash
from inquest.crash import CrashAt, CrashPoint, Ending
from inquest.entrypoints.cli.environment import read_settings
from inquest.errors import ConfigurationError
from tests.docs.pages import code, table

APP = Path(crash.__file__).parent
STOPPED = "import os, sys; from inquest import crash; crash.arm(crash.read(sys.argv[1]))\n"


@pytest.fixture(autouse=True)
def _nobody_is_told() -> Iterator[None]:
    yield
    crash.watch(None)


# ---- how it is armed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("C13", CrashAt(CrashPoint.C13)),
        ("C13:2", CrashAt(CrashPoint.C13, 2)),
        ("C01:10:stop", CrashAt(CrashPoint.C01, 10, Ending.STOP)),
        ("C24:1:kill", CrashAt(CrashPoint.C24)),
    ],
)
def test_a_point_is_written_with_its_passing_and_its_ending(text: str, at: CrashAt) -> None:
    assert crash.read(text) == at


@pytest.mark.parametrize("text", ["C00", "C25", "c13", "C13:0", "C13:", "C13:1:term", "C13 ", "C13\n", "C13:99999"])
def test_an_unknown_point_is_refused_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("INQUEST_CRASH_AT", text)

    with pytest.raises(ConfigurationError, match=r"^INQUEST_CRASH_AT: .*C01 to C24"):
        read_settings()


def test_nothing_is_armed_unless_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INQUEST_CRASH_AT", raising=False)

    assert read_settings().crash_at is None
    assert not crash.is_watched()


def test_an_armed_process_ends_at_its_passing_of_its_point_and_nowhere_before() -> None:
    passes = "p = crash.CrashPoint; crash.reached(p.C12); crash.reached(p.C13); print('one', flush=True)\n"
    again = "crash.reached(None); crash.reached(p.C13); print('two', flush=True)\n"

    ended = subprocess.run(
        [sys.executable, "-c", STOPPED + passes + again, "C13:2"], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "one\n")


def test_a_process_that_stands_still_goes_on_when_it_is_continued() -> None:
    passes = "crash.reached(crash.CrashPoint.C13); print('went on', flush=True)\n"
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED + passes, "C13:1:stop"], stdout=subprocess.PIPE, text=True
    ) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        process.send_signal(signal.SIGCONT)
        assert process.communicate()[0] == "went on\n"


async def test_a_point_on_the_way_is_reached_after_what_is_sent() -> None:
    order: list[object] = []
    crash.watch(order.append)

    crash.reached_when_sent(CrashPoint.C03)
    order.append("sent")
    assert order == ["sent"]
    await asyncio.sleep(0)

    assert order == ["sent", CrashPoint.C03]


# ---- where they stand --------------------------------------------------------------------------------------


def test_every_point_stands_where_the_table_says_and_nowhere_else() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted({*APP.rglob("*.py")} - {Path(crash.__file__)}):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "CrashPoint":
                found[node.attr].append(path.relative_to(APP).as_posix())

    rows = table("docs/explanation/durability.md", "The crash matrix")
    assert {code(row[0])[0]: code(row[2]) for row in rows} == dict(found)
    assert [(code(row[0])[0], row[1]) for row in rows] == [(one.name, one.value) for one in CrashPoint]
