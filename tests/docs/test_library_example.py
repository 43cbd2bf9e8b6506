"""The example host of the documentation runs, and its page shows the very file."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.docs.pages import ROOT, blocks

EXAMPLE = ROOT / "docs/examples/in_memory_host.py"
PAGE = ROOT / "docs/how-to/embed-as-a-library.md"


def test_the_page_shows_the_example_as_it_runs() -> None:
    shown = [block.text for block in blocks(PAGE) if block.language == "python"]

    assert shown == [EXAMPLE.read_text("utf-8").rstrip("\n")]


def test_the_example_comes_to_its_ends_and_asked_again_asks_nobody() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
    )

    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    analyst, model = said[:4], said[4:]
    assert analyst[0].startswith("by-the-analyst: cause_found, sha256:")
    assert "deployment" in analyst[1]
    assert model[0].startswith("by-a-model: contributing_only, sha256:")
    assert [analyst[:2], model[:2]] == [analyst[2:], model[2:]]  # the digest and the number of requests too
