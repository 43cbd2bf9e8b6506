"""The real servers of the end-to-end tests, as processes: the shop, Prometheus, Alertmanager, and our own.

Each is started on a free loopback port, keeps its files and its output in a folder of the test, and is
stopped by its process id at the end of a `with`: asked first, killed when it takes too long.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inquest.store.embedded.postmaster import find_running, stop_running
from tests.loopback import HOST, answers, free_port
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
READY_S = 120.0
STOP_S = 60.0
COMMAND_S = 120.0
ALERT = "CheckoutErrorRatioHigh"
LABELS = {"service": "checkout", "namespace": "shop"}
TOKEN = "a-token-that-only-alertmanager-has"
INTAKE = {"type": "alertmanager", "auth": {"bearer_env": "INQUEST_E2E_TOKEN"}}
REPORTS = {"type": "folder", "path": "reports"}

needs_servers = pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("prometheus", "prometheus-alertmanager")),
    reason="needs prometheus and prometheus-alertmanager (tools/install_e2e_servers.sh)",
)


class Running:
    """One process of a test."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], output: Path) -> None:
        self.name = name
        self.pid = process.pid
        self.process = process
        self.is_killed = False
        self._output = output

    def output(self) -> str:
        """Give what it has printed so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def until_says(self, word: str) -> None:
        """Wait until `word` is in its output."""
        wait_until(
            lambda: word in self.output() or self.must_live(),
            lambda: f"{self.name} did not say {word}:\n{self.output()[-3000:]}",
            patience_s=READY_S,
        )

    def has_ended_well(self) -> bool:
        """Say whether it has ended as asked, with 0; or as we killed it."""
        return self.is_killed or self.process.returncode == 0

    def must_live(self) -> bool:
        """Fail with the end of its output when it has ended; False while it lives: it is not what is waited for."""
        code = self.process.poll()
        if code is not None:
            pytest.fail(f"{self.name} ended with {code}:\n{self.output()[-3000:]}")
        return False

    def kill(self) -> None:
        """End it as a crash would: kill -9, and nothing else."""
        self.is_killed = True
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait(STOP_S)

    def stop(self) -> int:
        """Ask it to end, wait, and give its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


@contextmanager
def running(
    name: str,
    arguments: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    cwd: Path = ROOT,
) -> Iterator[Running]:
    """Run one process for the length of a `with`; its output goes to FOLDER/NAME.log."""
    output = folder / f"{name}.log"
    env = {**os.environ, **(environment or {})}
    with output.open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env, cwd=cwd)
    one = Running(name, process, output)
    try:
        yield one
    finally:
        one.stop()


def until_ready(url: str, process: Running) -> None:
    """Wait until `url` answers 200. Fails when the process ends or takes longer than READY_S."""
    wait_until(
        lambda: answers(url) or process.must_live(),
        lambda: f"{process.name} was not ready:\n{process.output()[-3000:]}",
        patience_s=READY_S,
    )


# ---- the shop, and what watches it -----------------------------------------------------------------------


@dataclass(frozen=True)
class Shop:
    """The service that breaks."""

    port: int

    def break_it(self) -> None:
        self._post("break")

    def repair_it(self) -> None:
        self._post("repair")

    def _post(self, what: str) -> None:
        httpx2.post(f"http://{HOST}:{self.port}/{what}", timeout=5, trust_env=False).raise_for_status()


@contextmanager
def shop(folder: Path) -> Iterator[Shop]:
    port = free_port()
    with running("shop", [sys.executable, "-m", "tests.e2e.checkout_app", str(port)], folder) as process:
        until_ready(f"http://{HOST}:{port}/metrics", process)
        yield Shop(port)


def _ratio(window: str) -> str:
    total = f"checkout_http_requests_total[{window}]"
    failed = f'checkout_http_requests_total{{status=~"5.."}}[{window}]'
    by = "sum by (service, namespace)"
    return f"{by} (rate({failed})) / {by} (rate({total}))"


@dataclass(frozen=True)
class Prometheus:
    """A real Prometheus that scrapes the shop every second."""

    url: str

    def value(self, expression: str) -> float | None:
        """Give the value of an expression that has one series, None while it has none."""
        answer = httpx2.get(f"{self.url}/api/v1/query", params={"query": expression}, timeout=5, trust_env=False)
        found = answer.json()["data"]["result"]
        return float(found[0]["value"][1]) if found else None


@contextmanager
def prometheus(folder: Path, *, scrapes: Shop, alertmanager_port: int) -> Iterator[Prometheus]:
    """Run one whose rule fires when more than a fifth of the requests failed for two seconds."""
    rule = {
        "alert": ALERT,
        "expr": f"{_ratio('10s')} > 0.2",
        "for": "2s",
        "labels": {"severity": "critical"},
        "annotations": {"summary": "Checkout answers more than a fifth of its requests with an error"},
    }
    target = {"targets": [f"{HOST}:{scrapes.port}"], "labels": LABELS}
    manager = {"static_configs": [{"targets": [f"{HOST}:{alertmanager_port}"]}]}
    _write(folder / "rules.yml", {"groups": [{"name": "shop", "rules": [rule]}]})
    _write(
        folder / "prometheus.yml",
        {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(folder / "rules.yml")],
            "alerting": {"alertmanagers": [manager]},
            "scrape_configs": [{"job_name": "checkout", "static_configs": [target]}],
        },
    )
    port = free_port()
    arguments = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address={HOST}:{port}",
    ]
    with running("prometheus", arguments, folder) as process:
        until_ready(f"http://{HOST}:{port}/-/ready", process)
        yield Prometheus(f"http://{HOST}:{port}")


@contextmanager
def alertmanager(folder: Path, *, port: int, posts_to: str) -> Iterator[None]:
    """Run one that posts to our intake, with the intake's token."""
    receiver = {
        "url": posts_to,
        "send_resolved": True,
        "http_config": {"authorization": {"type": "Bearer", "credentials": TOKEN}},
    }
    route = {
        "receiver": "inquest",
        "group_by": ["alertname", "service"],
        "group_wait": "1s",
        "group_interval": "5s",
        "repeat_interval": "1h",
    }
    receivers = [{"name": "inquest", "webhook_configs": [receiver]}]
    _write(folder / "alertmanager.yml", {"route": route, "receivers": receivers})
    arguments = [
        "prometheus-alertmanager",
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address={HOST}:{port}",
        "--cluster.listen-address=",
    ]
    with running("alertmanager", arguments, folder) as process:
        until_ready(f"http://{HOST}:{port}/-/ready", process)
        yield


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")  # JSON is YAML


# ---- our own processes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inquest:
    """An installation in a folder: a configuration file, an embedded Postgres, and the processes on them."""

    folder: Path
    port: int = field(default_factory=free_port)
    more_environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def intake_url(self) -> str:
        return f"{self.url}/v1/alerts/alertmanager"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "INQUEST_HOME": str(self.home),
            "INQUEST_CONFIG": str(self.folder / "inquest.yaml"),
            "INQUEST_HOST": HOST,
            "INQUEST_PORT": str(self.port),
            "INQUEST_E2E_TOKEN": TOKEN,
            **self.more_environment,
        }

    def configure(self, *, prometheus_url: str, **sections: Mapping[str, object]) -> None:
        """Write the configuration file, as an operator would; `sections` are beside, or instead of, its own."""
        source = {"type": "prometheus", "url": prometheus_url, "scrape_interval": "1s"}
        workspace = {
            "intakes": {"alertmanager": INTAKE},
            "integrations": {"prometheus": source},
            "destinations": {"reports": REPORTS},
            **sections,
        }
        _write(self.folder / "inquest.yaml", {"version": 1, "workspaces": {"default": workspace}})

    @contextmanager
    def up(self) -> Iterator[Running]:
        """Run the HTTP service and a worker by one command; the service is ready inside the `with`."""
        with self.command("up") as process:
            until_ready(f"{self.url}/readyz", process)
            yield process

    @contextmanager
    def serving(self) -> Iterator[Running]:
        """Run the HTTP service; it is ready inside the `with`."""
        with self.command("serve") as process:
            until_ready(f"{self.url}/readyz", process)
            yield process

    def working(self, number: int) -> AbstractContextManager[Running]:
        """Run a worker."""
        return self.command("work", name=f"work-{number}")

    @contextmanager
    def command(self, *arguments: str, name: str = "") -> Iterator[Running]:
        """Run a command beside the test."""
        with running(name or arguments[0], _ours(arguments), self.folder, self.environment) as process:
            yield process

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        env = {**os.environ, **self.environment}
        return subprocess.run(
            _ours(arguments), env=env, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )

    @contextmanager
    def leaving_nothing(self) -> Iterator[None]:
        """Check at the end that no process of ours has left the database running, and stop it if one has."""
        data = self.home / "postgres" / "server" / "data"
        try:
            yield
        finally:
            left = find_running(data)
            stop_running(data)
        assert left is None

    def newest(self, investigation: str) -> Report | None:
        """Give the newest revision, None while there is none."""
        latest = self.reports / investigation / "latest"
        return _read(latest.parent / latest.read_text(encoding="utf-8").strip()) if latest.exists() else None

    def revisions(self, investigation: str) -> list[Report]:
        """Give every revision that was written, oldest first."""
        folders = (self.reports / investigation).glob("r*")
        return sorted((_read(folder) for folder in folders), key=lambda one: int(one.content["revision"]))


@dataclass(frozen=True)
class Report:
    """A revision's folder and its report."""

    folder: Path
    content: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def alert(self) -> str:
        return str(self.content["title"])

    @property
    def investigation(self) -> str:
        return str(self.content["investigation_id"])


def _read(folder: Path) -> Report:
    return Report(folder, json.loads((folder / "report.json").read_bytes())["report"])


def _ours(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "inquest", *arguments]
