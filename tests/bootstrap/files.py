"""Configuration files for tests, and what is built from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inquest.bootstrap.workspace import Workspaces, build_workspaces
from inquest.configuration.file import parse
from inquest.runtime.clock import SystemClock
from inquest.runtime.keys import InstallationKey

NOBODY = InstallationKey(bytes(range(32)))


def file_of(**workspace: Any) -> str:  # noqa: ANN401  # any of a section's keys
    """Write a file with one workspace, "default"."""
    return json.dumps({"version": 1, "workspaces": {"default": workspace}})


def build(text: str, base: Path) -> Workspaces:
    """Build what `text` says; its relative paths begin in `base`."""
    return build_workspaces(parse(text, "f.yaml"), key=NOBODY, clock=SystemClock(), base=base)


def prometheus(url: str = "http://127.0.0.1:9090", **more: Any) -> dict[str, Any]:  # noqa: ANN401  # likewise
    return {"type": "prometheus", "url": url, **more}


OPEN_INTAKE = {"type": "alertmanager", "insecure_without_auth": True}
