"""`inquest demo` as a newcomer runs it: the recorded incident, its cause, a report that verifies, no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inquest.entrypoints.cli.exits import Exit
from inquest.scenarios.catalogue import open_scenario
from tests.e2e.servers import ROOT
from tests.e2e.watching import is_on_this_machine, watch

pytestmark = pytest.mark.e2e

DEADLINE_S = 60.0
"""What the issue allows the demo."""
PACK = "checkout_pool"


def test_the_demo_finds_the_recorded_cause_and_talks_to_this_machine_only(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    watched, began = watch(tmp_path / "watch"), time.monotonic()

    said = inquest(["demo", "--json", "--keep", str(tmp_path / "demo")], **watched.environment)
    say(f"the demo: {time.monotonic() - began:.1f} s")

    assert said.returncode == Exit.ANSWERED, said.stdout[-3000:] + said.stderr[-3000:]
    told = json.loads(said.stdout.splitlines()[-1])
    assert told["wrong"] == []
    assert inquest(["verify", told["folder"]]).returncode == Exit.ANSWERED
    names_the_recorded_cause(json.loads((Path(told["folder"]) / "report.json").read_bytes())["report"]["diagnosis"])

    assert len({entry["pid"] for entry in watched.connections()}) >= len(("demo", "serve", "work"))
    watched.stayed_here()


def inquest(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**{name: value for name, value in os.environ.items() if not name.startswith("INQUEST_")}, **environment}
    return subprocess.run(
        [sys.executable, "-m", "inquest", *arguments],
        env=env, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip


def names_the_recorded_cause(diagnosis: dict[str, Any]) -> None:
    """Compare with what really happened, as the recording tells it: the change itself, not only what it used up."""
    truth = open_scenario(PACK).header.truth
    assert diagnosis["verdict"] == truth.verdict
    assert diagnosis["root_cause_category"] == truth.category
    assert diagnosis["affected_object"].rsplit("/", 1)[-1] == truth.affected_object.rsplit("/", 1)[-1]
    assert diagnosis["validated_claims"]
    assert diagnosis["non_validated_claims"] == []


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("127.0.0.1", True), ("::1", True), ("/run/s/.s.PGSQL.5432", True), ("localhost", True),
        ("10.0.0.1", False), ("192.0.2.7", False), ("pypi.example.com", False), ("", False),
    ],
)  # fmt: skip
def test_what_is_on_this_machine_is_told_from_what_is_not(host: str, is_here: bool) -> None:
    assert is_on_this_machine(host) is is_here
