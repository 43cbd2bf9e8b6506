"""What the first tutorial tells its reader to write and to type works: its own files and commands, run.

Two things differ from what a reader does: the ports are free ones, and the sampling is quicker, so that nobody
waits five minutes for a history.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from inquest.entrypoints.cli.exits import Exit
from tests.docs.pages import ROOT, Block, blocks
from tests.e2e.servers import COMMAND_S, Running, needs_servers, running, until_ready
from tests.loopback import free_port
from tests.waiting import until

PAGE = ROOT / "docs/tutorials/first-report.md"
PORTS = ("9090", "9093", "9109", "8417")
QUICKER = (
    ("scrape_interval: 5s", "scrape_interval: 1s"),
    ("evaluation_interval: 5s", "evaluation_interval: 1s"),
    ("[1m]", "[15s]"),
    ("for: 15s", "for: 2s"),
    ("group_wait: 5s", "group_wait: 1s"),
    ("group_interval: 1m", "group_interval: 5s"),
)
PROGRAMS = ("shop", "prometheus", "alertmanager", "inquest")
HISTORY_SAMPLES = 25
ONE_INVESTIGATION = re.compile(r"\b01a2[0-9a-f]{28}\b")
"""There is one here, so a shell's * names its folder."""
PATIENCE_S = 60.0


@pytest.fixture
def lesson(tmp_path: Path) -> Callable[[str], str]:
    """Give the code of the page by its title, as this run has it."""
    said = {block.title: block for block in blocks(PAGE) if block.title}
    instead = {port: str(free_port()) for port in PORTS}

    def code(title: str) -> str:
        block = said[title]
        text = typed_in(block)
        for old, new in QUICKER:
            text = text.replace(old, new)
        text = ONE_INVESTIGATION.sub("*", text)
        text = re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: instead[found[1]], text)
        text = text.replace(".venv/bin/python", sys.executable)
        text = text.replace(".venv/bin/inquest", f"{sys.executable} -m inquest")
        return re.sub(r"\blesson\b", str(tmp_path / "lesson"), text)

    return code


def typed_in(block: Block) -> str:
    """Give the text of a block; of a console its commands, without what they print."""
    if block.language != "console":
        return block.text
    return "\n".join(line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ "))


def type_in(command: str, exits: Exit = Exit.ANSWERED) -> str:
    done = subprocess.run(
        ["sh", "-euc", command], cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    assert done.returncode == exits, done.stdout + done.stderr
    return done.stdout


@contextmanager
def in_terminals(lesson: Callable[[str], str], folder: Path) -> Iterator[dict[str, Running]]:
    """Run the four programs, each as its block says; what is Inquest's port by default is said to it."""
    environment = {"INQUEST_PORT": lesson("lesson/alertmanager.yml").split("127.0.0.1:")[1].split("/")[0]}
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(running(name, ["sh", "-c", f"exec env {lesson(name)}"], folder, environment))
            for name in PROGRAMS
        }


@pytest.mark.e2e
@needs_servers
async def test_the_first_tutorial_leads_to_its_report_and_its_resolved_revision(
    lesson: Callable[[str], str], tmp_path: Path
) -> None:
    type_in(lesson("prepare"))
    for title in (block.title for block in blocks(PAGE) if block.title.startswith("lesson/")):
        (tmp_path / title).write_text(lesson(title), encoding="utf-8")
    assert "no problems" in type_in(lesson("check"))
    reports = tmp_path / "lesson/reports"
    with in_terminals(lesson, tmp_path) as programs:
        prometheus = _url(lesson("lesson/inquest.yaml"))
        until_ready(f"{prometheus}/-/ready", programs["prometheus"])
        until_ready(f"{_url(lesson('lesson/alertmanager.yml'))}/readyz", programs["inquest"])
        await until(lambda: _samples(prometheus) >= HISTORY_SAMPLES, patience_s=PATIENCE_S)

        type_in(lesson("break"))
        await until(lambda: _said(reports, "r3").startswith("# Incident report"), patience_s=PATIENCE_S)
        assert "**Cause found**" in _said(reports, "r3")
        assert "`resource.connection_pool_exhausted`" in _said(reports, "r3")

        assert "cause_found  checkout  CheckoutErrorRatioHigh" in type_in(lesson("list"))
        assert type_in(lesson("read")) == _said(reports, "r3")

        type_in(lesson("repair"))
        await until(lambda: _said(reports, "r4").startswith("**Resolved**"), patience_s=PATIENCE_S)

    assert ": verified" in type_in(lesson("verify"))
    assert ": 2 problems" in type_in(lesson("forge"), exits=Exit.FAILED)


def test_the_first_part_is_the_demo(lesson: Callable[[str], str]) -> None:
    """It has tests of its own (tests/e2e/test_demo.py)."""
    assert lesson("demo") == "make demo"


def _url(text: str) -> str:
    (found,) = re.findall(r"url: (http://127\.0\.0\.1:\d+)", text)
    return str(found)


def _samples(prometheus: str) -> float:
    asked = {"query": "count_over_time(checkout_db_pool_connections_in_use[5m])"}
    found = httpx2.get(f"{prometheus}/api/v1/query", params=asked, timeout=5, trust_env=False).json()["data"]["result"]
    return float(found[0]["value"][1]) if found else 0


def _said(reports: Path, revision: str) -> str:
    return "".join(path.read_text("utf-8") for path in reports.glob(f"*/{revision}/report.md"))
