"""The whole way of an alert: two senders of alerts, one Prometheus, and a folder, a Slack and a GitLab for the reports."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from tests.e2e.prometheus_proxy import UPSTREAM_TIMEOUT_S, is_health_check, passed_on
from tests.e2e.served import served
from tests.e2e.servers import INTAKE, REPORTS, Running
from tests.e2e.vendors import TOKENS, Vendors, vendors
from tests.e2e.watching import Watch, watch
from tests.e2e.world import World, world
from tests.fakes.loopback import Reply, Seen
from tests.sources.datadog.notifications import RECOVERED, TRIGGERED, filled

TOKEN_ENV, TOKEN, HEADER = "INQUEST_E2E_DATADOG", "a-token-that-only-datadog-has", "X-Inquest-Token"
INTAKES = {
    "alertmanager": INTAKE,
    "datadog": {
        "type": "datadog",
        "auth": {"header": HEADER, "token_env": TOKEN_ENV},
        "group_by": ["monitor_id", "env", "service"],
    },
}
ONE_AT_A_TIME = {"max_running": 1}


class Gate:
    """A door before a Prometheus: while it is closed every question waits, but for whether Prometheus is well."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    @contextmanager
    def before(self, upstream: str) -> Iterator[str]:
        """Serve it before `upstream` for the length of a `with`, and give its URL."""

        async def answer(seen: Seen) -> Reply:
            if not is_health_check(seen.params):
                await asyncio.to_thread(self._open.wait)
            async with httpx2.AsyncClient(base_url=upstream, timeout=UPSTREAM_TIMEOUT_S, trust_env=False) as client:
                return await passed_on(client, seen)

        with served(answer) as url:
            try:
                yield url
            finally:
                self.open()


@dataclass(frozen=True)
class WholePath:
    """A world with all ways in and out."""

    world: World
    vendors: Vendors
    gate: Gate
    watch: Watch

    def notify(self, monitor: str, *, recovered: bool = False) -> None:
        """Post as Datadog does: our template, with its variables expanded, of one cycle of the monitor of this name."""
        transition = "Recovered" if recovered else "Triggered"
        values = {
            **(RECOVERED if recovered else TRIGGERED),
            "ALERT_TITLE": f"[{transition} on {{env:prod,service:checkout}}] {monitor}",
            "ALERT_ID": monitor_id(monitor),
            "ALERT_CYCLE_KEY": f"77165482340112{monitor_id(monitor)}",
            "ID": f"{monitor_id(monitor)}{int(recovered)}",
            "DATE": str(int(datetime.now(UTC).timestamp() * 1_000)),
        }
        url = f"{self.world.inquest.url}/v1/alerts/datadog"
        httpx2.post(url, content=filled(values), headers={HEADER: TOKEN}, trust_env=False).raise_for_status()

    def kill_the_worker(self) -> None:
        """End the worker of `inquest up` as a crash would; `up` starts another."""
        (up,) = self.world.processes
        os.kill(_child(up, "work"), signal.SIGKILL)


def monitor_id(monitor: str) -> str:
    """Give the number of a monitor: the same for the same name."""
    return str(sum(ord(letter) * 31**place for place, letter in enumerate(monitor)) % 10**8)


def _child(parent: Running, command: str) -> int:
    """Give the process that `parent` has started as `inquest COMMAND`."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            is_child = words and f"PPid:\t{parent.pid}\n" in (entry / "status").read_text()
        except OSError:  # it has ended
            continue
        if is_child and command.encode() in words:
            found.append(int(entry.name))
    (child,) = found
    return child


@contextmanager
def whole_path(folder: Path) -> Iterator[WholePath]:
    """Start everything for the length of a `with`, with `inquest up` for our own."""
    watched, gate = watch(folder / "watch"), Gate()
    with ExitStack() as starts:
        beside = starts.enter_context(vendors())
        running = starts.enter_context(
            world(
                folder,
                workers=None,
                environment={TOKEN_ENV: TOKEN, **TOKENS, **watched.environment},
                before_prometheus=gate.before,
                intakes=INTAKES,
                destinations={"reports": REPORTS, **beside.destinations},
                budgets=ONE_AT_A_TIME,
            )
        )
        yield WholePath(running, beside, gate, watched)
