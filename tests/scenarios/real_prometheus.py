"""A Debian Prometheus over given samples, for the tests that compare with it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.loopback import HOST, answers, free_port
from tests.waiting import wait_until

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
    port = free_port()
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
            wait_until(
                lambda: answers(f"http://{HOST}:{port}/-/ready"),
                lambda: f"prometheus is ready: {(folder / 'log').read_text()[-2000:]}",
                patience_s=READY_WITHIN_S,
            )
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=30)
