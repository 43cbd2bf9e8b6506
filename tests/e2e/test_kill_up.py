"""`inquest up` killed outright: nothing of it goes on, and the next one finds its port and its database free."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from inquest.store.embedded.postmaster import find_running
from tests.e2e.servers import ROOT
from tests.loopback import HOST, answers, free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.e2e

PATIENCE_S = 60.0
CONFIGURATION = {
    "version": 1,
    "workspaces": {
        "default": {"intakes": {"am": {"type": "alertmanager", "auth": {"bearer_env": "E2E_INTAKE_TOKEN"}}}},
    },
}


until = partial(wait_until, patience_s=PATIENCE_S)


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
        until(lambda: answers(f"http://{HOST}:{port}/readyz"), "the service is ready")
        until(lambda: len(of_installation(home)) == 3, "up, serve and work run")
        up.kill()
        up.wait()
        until(lambda: not of_installation(home), "serve and work have ended")
        assert find_running(home / "postgres" / "server" / "data") is None
    finally:
        for pid in of_installation(home):
            os.kill(pid, signal.SIGTERM)
        until(lambda: not of_installation(home), "nothing is left over")
