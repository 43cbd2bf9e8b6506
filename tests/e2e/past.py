"""A past for a Prometheus that has just been started: the shop as it was before anything broke, loaded as blocks.

An investigation compares with what was normal. Waiting for a history takes as long as the history, and a busy machine
makes the trouble longer but not what came before it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.servers import LABELS, Shop
from tests.loopback import HOST

LENGTH_S = 1_200
STEP_S = 2
"""Close enough for a rate over ten seconds."""
REQUESTS_PER_S = 20
POOL_SIZE = 10
LOADED_IN_S = 60.0


def give_a_past(storage: Path, watched: Shop, folder: Path) -> None:
    """Write blocks into `storage` that end now: customers served, a fifth of the pool in use, nothing failed."""
    written = folder / "past.om"
    written.write_text("\n".join([*_lines(watched, time.time()), "# EOF", ""]), encoding="utf-8")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", written, storage],
        check=True, capture_output=True, timeout=LOADED_IN_S,
    )  # fmt: skip


def _lines(watched: Shop, end: float) -> Iterator[str]:
    labels = {"instance": f"{HOST}:{watched.port}", "job": "checkout", **LABELS}
    moments = range(int(end) - LENGTH_S, int(end), STEP_S)
    ages = [moment - moments[0] for moment in moments]
    yield from _series(
        "checkout_http_requests_total", {**labels, "status": "200"}, moments, [age * REQUESTS_PER_S for age in ages]
    )
    yield from _series("checkout_http_requests_total", {**labels, "status": "503"}, moments, [0 for _ in ages])
    yield from _series("checkout_db_pool_connections_in_use", labels, moments, [2 + age % 3 // 2 for age in ages])
    yield from _series("checkout_db_pool_connections_max", labels, moments, [POOL_SIZE for _ in ages])


def _series(name: str, labels: dict[str, str], moments: range, values: list[int]) -> Iterator[str]:
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    for moment, value in zip(moments, values, strict=True):
        yield f"{name}{{{inside}}} {value} {moment}"
