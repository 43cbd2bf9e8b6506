"""Every YAML that a page shows is taken by what it is for: `inquest config check`, or the checkers of Prometheus."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from inquest.configuration.sections import WorkspaceSection
from inquest.entrypoints.cli.commands import run
from inquest.entrypoints.cli.exits import Exit
from tests.docs.pages import Block, blocks, name_of
from tests.docs.test_typed import READERS
from tests.e2e.servers import needs_servers

SCENARIO = "docs/reference/scenarios.md"
"""Its YAML is a scenario's header, and `tests/scenarios` holds those that ship to their shape."""
SHOWN = [one for page in READERS if name_of(page) != SCENARIO for one in blocks(page) if one.language == "yaml"]
SECRET = "a-secret-of-nobody-0123456789"
OPEN_INTAKE = {"an_intake": {"type": "alertmanager", "insecure_without_auth": True}}


def place(block: Block) -> str:
    return f"{name_of(block.page)}:{block.line}"


def is_ours(block: Block) -> bool:
    return bool({"workspaces", *WorkspaceSection.model_fields} & parsed(block).keys())


def parsed(block: Block) -> dict[str, Any]:
    found = yaml.safe_load(block.text)
    assert isinstance(found, dict), place(block)
    return found


def whole(shown: dict[str, Any]) -> dict[str, Any]:
    """Put what a page shows into a whole file: a part of a workspace, or workspaces without a version."""
    inside = shown if "workspaces" in shown else {"workspaces": {"default": shown}}
    for workspace in inside["workspaces"].values():
        workspace.setdefault("intakes", OPEN_INTAKE)
    return {"version": 1, **inside}


def with_secrets(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set every variable that is named and write every file that is, in `folder`."""
    for name in re.findall(r"\w+_env: (\w+)", text):
        monkeypatch.setenv(name, SECRET)
    text = text.replace("/run/secrets/", "")
    for path in re.findall(r"\w+_file: ([\w./-]+)", text):
        (folder / path).write_text(SECRET)
    return text


@pytest.mark.parametrize("block", [one for one in SHOWN if is_ours(one)], ids=place)
def test_every_configuration_that_is_shown_has_no_problem(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = yaml.safe_dump(whole(parsed(block)), sort_keys=False)
    path = tmp_path / "inquest.yaml"
    path.write_text(with_secrets(written, tmp_path, monkeypatch))

    code = run(["config", "check", "--config", str(path)])

    assert (code, capsys.readouterr().err) == (Exit.ANSWERED, "")


THEIRS: Mapping[str, list[str]] = {
    "receivers": ["amtool", "check-config"],
    "scrape_configs": ["promtool", "check", "config", "--syntax-only"],
    "groups": ["promtool", "check", "rules"],
}
"""By a key at its top: what checks the file."""


@pytest.mark.parametrize("block", [one for one in SHOWN if not is_ours(one)], ids=place)
def test_whose_every_other_file_is_is_known(block: Block) -> None:
    assert THEIRS.keys() & parsed(block).keys(), "say in THEIRS what checks it"


@pytest.mark.e2e
@needs_servers
@pytest.mark.parametrize("block", [one for one in SHOWN if not is_ours(one)], ids=place)
def test_every_file_of_prometheus_that_is_shown_is_taken(block: Block, tmp_path: Path) -> None:
    shown = parsed(block)
    command = next(command for key, command in THEIRS.items() if key in shown)
    if "receivers" in shown:
        shown.setdefault("route", {"receiver": shown["receivers"][0]["name"]})
    path = tmp_path / "shown.yml"
    path.write_text(yaml.safe_dump(shown))
    assert shutil.which(command[0]), f"{command[0]} is missing"
    checked = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
