"""Starting the two processes that stand between us and a vendor, each with a journal of what it was asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.journals import Entry, read_journal
from tests.e2e.servers import running, until_ready
from tests.loopback import HOST, free_port


@dataclass(frozen=True)
class StandIn:
    """A running one."""

    url: str
    journal: Path

    def entries(self) -> list[Entry]:
        """Give what it has journalled so far."""
        return read_journal(self.journal)


@contextmanager
def model_provider(folder: Path, script: Sequence[dict[str, Any]]) -> Iterator[StandIn]:
    """Run a provider that answers with `script`."""
    port, written, journal = free_port(), folder / "script.json", folder / "provider.jsonl"
    written.write_text(json.dumps(script), encoding="utf-8")
    arguments: list[str | Path] = [sys.executable, "-m", "tests.e2e.model_provider", str(port), written, journal]
    with running("provider", arguments, folder) as process:
        until_ready(f"http://{HOST}:{port}/ready", process)
        yield StandIn(f"http://{HOST}:{port}/v1", journal)


@contextmanager
def journalling_proxy(folder: Path, upstream: str, *, held: str | None = None) -> Iterator[StandIn]:
    """Run a proxy before `upstream` that holds the first query whose expression contains `held`, where that is given."""
    port, journal = free_port(), folder / "proxy.jsonl"
    arguments: list[str | Path] = [
        sys.executable,
        "-m",
        "tests.e2e.prometheus_proxy",
        str(port),
        upstream,
        journal,
        *([] if held is None else [held]),
    ]
    with running("proxy", arguments, folder) as process:
        until_ready(f"http://{HOST}:{port}/ready", process)
        yield StandIn(f"http://{HOST}:{port}", journal)
