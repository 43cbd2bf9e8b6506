"""A Debian Prometheus over given samples, for the tests that compare with it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="needs prometheus and promtool (Debian package prometheus)",
)
READY_WITHIN_S = 30.0


@contextmanager
def running_prometheus(folder: Path, open_metrics: str, *, configuration: str = "{}\n") -> Iterator[str]:
    """Load `open_metrics` by promtool's backfill and give the base URL of a server over it."""
    (folder / "samples.om").write_text(open_metrics)
    (folder / "prometheus.yml").write_text(configuration)
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "samples.om", folder / "db"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    port = _free_port()
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'db'}",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
        try:
            _until_ready(f"http://127.0.0.1:{port}", folder)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _until_ready(url: str, folder: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=5):  # noqa: S310 - our own loopback server
                return
        except OSError:
            time.sleep(0.05)  # the condition is polled, under a deadline
    pytest.fail(f"prometheus did not become ready: {(folder / 'log').read_text()[-2000:]}")
