"""`inquest up` killed outright: nothing of it goes on, and the next one finds its port and its database free."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from inquest.store.embedded.postmaster import find_running
from tests.e2e.servers import HOST, ROOT, free_port

pytestmark = pytest.mark.e2e

PATIENCE_S = 60.0
CONFIGURATION = {
    "version": 1,
    "workspaces": {
        "default": {"intakes": {"am": {"type": "alertmanager", "auth": {"bearer_env": "E2E_INTAKE_TOKEN"}}}},
    },
}


def until(condition: Callable[[], object], what: str) -> None:
    gives_up_at = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < gives_up_at, f"gave up waiting until {what}"
        time.sleep(0.1)


def is_ready(port: int) -> bool:
    try:
        return httpx2.get(f"http://{HOST}:{port}/readyz", trust_env=False).status_code == httpx2.codes.OK
    except httpx2.TransportError:
        return False


def of_installation(home: Path) -> list[int]:
    """List the live processes that were told this INQUEST_HOME."""
    told, found = f"INQUEST_HOME={home}".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()  # empty for a zombie
            except OSError:
                continue
            if told in environment.split(b"\0"):
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
def test_what_up_has_started_ends_when_up_is_killed(tmp_path: Path) -> None:
    home, config, port = tmp_path / "home", tmp_path / "inquest.yaml", free_port()
    config.write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    environment = {
        **os.environ, "INQUEST_HOME": str(home), "INQUEST_PORT": str(port), "INQUEST_HOST": HOST, "E2E_INTAKE_TOKEN": "t",
    }  # fmt: skip
    with (tmp_path / "output").open("wb") as output:
        up = subprocess.Popen(
            [sys.executable, "-m", "inquest", "up", "--config", str(config)],
            env=environment, cwd=ROOT, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        until(lambda: is_ready(port), "the service is ready")
        until(lambda: len(of_installation(home)) == 3, "up, serve and work run")
        up.kill()
        up.wait()
        until(lambda: not of_installation(home), "serve and work have ended")
        assert find_running(home / "postgres" / "server" / "data") is None
    finally:
        for pid in of_installation(home):
            os.kill(pid, signal.SIGTERM)
        until(lambda: not of_installation(home), "nothing is left over")
