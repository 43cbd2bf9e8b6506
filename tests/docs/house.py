"""A reader's folder: the files that the pages have made, and a service that was started as they say.

Its configuration is what the pages show, put together: the README's, the Datadog intake, a Prometheus at the address
of a recorded incident. Alertmanager runs as its page configures it. One incident was investigated.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import yaml

from inquest.domain.value import Json
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.server import start
from tests.docs.pages import ROOT, blocks
from tests.docs.typed import (
    ALERTMANAGER,
    DATABASE,
    FOLDER,
    FREE_PORT,
    GUARDED,
    GUARDED_TLS,
    ID,
    KEY,
    NOISE,
    REPORTS,
    SERVICE,
    SUBSTITUTES,
    TYPED,
    Prepare,
    Start,
)
from tests.e2e.served import served
from tests.e2e.servers import Running, running, until_ready
from tests.fakes.loopback import Reply, Seen
from tests.fakes.prometheus import error, success
from tests.loopback import HOST, free_port
from tests.waiting import wait_until

BIN, TLS = Path(sys.executable).parent, ROOT / "tests/data/tls"
SECRET = "a-secret-of-nobody-0123456789"
PATIENCE_S = 120.0
"""Far beyond what is needed: it bounds a failing test, and is no claim about speed."""


@dataclass
class House:
    """The folder, and what stands for what the pages only name."""

    folder: Path
    port: int
    alertmanager_port: int
    database_url: str
    guarded: str
    guarded_tls: str
    environment: dict[str, str] = field(default_factory=dict)
    _processes: list[Running] = field(default_factory=list)
    _done: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)

    def text(self, command: str) -> str:
        """Give a command as it is typed here."""
        names = [name for _, name in SUBSTITUTES]
        any_of_them = "|".join(f"({expression})" for expression, _ in SUBSTITUTES)
        return re.sub(any_of_them, lambda found: self._instead(names[(found.lastindex or 1) - 1]), command)

    def _instead(self, name: str) -> str:
        given: Mapping[str, Callable[[], str]] = {
            ID: self.investigation,
            NOISE: lambda: self._listed("InquestTest"),
            KEY: lambda: str(self._manifest()["public_key"]),
            SERVICE: lambda: f"http://{HOST}:{self.port}",
            ALERTMANAGER: lambda: f"http://{HOST}:{self.alertmanager_port}",
            GUARDED: lambda: self.guarded,
            GUARDED_TLS: lambda: self.guarded_tls,
            FREE_PORT: lambda: str(free_port()),
            DATABASE: lambda: shlex.quote(self.database_url),
            FOLDER: lambda: str(self.folder),
            REPORTS: lambda: f"reports/{self.investigation()}",
        }
        return given[name]()

    def type_in(self, command: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Type a command to its end, in a shell of its own; once, when several pages have it typed."""
        script = "\n".join(self.text(line) for line in (*before, command)).replace(".venv/bin/", "")
        if script not in self._done:
            self._done[script] = self._run(script)
        return self._done[script]

    def _run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-euc", script], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    @contextmanager
    def serving(self, command: str, before: Sequence[str] = (), **variables: str) -> Iterator[Running]:
        """Type a command that stays, for the length of a `with`."""
        *lines, last = [self.text(line) for line in (*before, command)]
        script = "\n".join([*lines, f"exec env {last}"])
        environment = {**self.environment, **variables}
        with running(
            f"typed-{len(self._processes)}", ["sh", "-euc", script], self.folder, environment, cwd=self.folder
        ) as one:
            self._processes.append(one)
            yield one

    def investigation(self) -> str:
        """Give the id of the incident that was investigated."""
        (found,) = [path.parent.name for path in (self.folder / "reports").glob("*/r3")]
        return found

    def _listed(self, alert: str) -> str:
        return wait_until(lambda: self._ended(alert), f"{alert} is listed", patience_s=PATIENCE_S)

    def _ended(self, alert: str) -> str:
        rows = json.loads(self._run("inquest list --status succeeded --json").stdout)["investigations"]
        return next((str(row["id"]) for row in rows if row["title"] == alert), "")

    def _manifest(self) -> dict[str, Any]:
        found = json.loads((self.folder / "reports" / self.investigation() / "r3" / "manifest.json").read_bytes())
        assert isinstance(found, dict)
        return found


def shown_yaml(page: str, *keys: str) -> dict[str, Any]:
    """Give the first YAML of a page that has these keys at its top."""
    parsed = [yaml.safe_load(block.text) for block in blocks(ROOT / page) if block.language == "yaml"]
    found = next(one for one in parsed if set(keys) <= one.keys())
    assert isinstance(found, dict)
    return found


def _configuration(prometheus_url: str) -> dict[str, Any]:
    """Put the README's configuration and the page's Datadog intake together."""
    made = shown_yaml("README.md", "version", "workspaces")
    workspace = made["workspaces"]["default"]
    datadog = shown_yaml("docs/how-to/connect-datadog.md", "workspaces")["workspaces"]["default"]
    workspace["intakes"] = {**workspace["intakes"], **datadog["intakes"]}
    workspace["integrations"]["prometheus"]["url"] = prometheus_url
    return made


def _prepare(house: House) -> None:
    for command, how in TYPED.items():
        if isinstance(how, Prepare):
            done = house.type_in(command)
            assert done.returncode == 0, done.stderr


@contextmanager
def _alertmanager(house: House) -> Iterator[None]:
    """Run Alertmanager on the file of its page; only how long it waits for more of a group is another."""
    shown = shown_yaml("docs/how-to/connect-alertmanager.md", "route", "receivers")
    (house.folder / "alertmanager.yml").write_text(yaml.safe_dump(shown))
    shown["route"]["group_wait"] = "1s"
    quicker = house.text(yaml.safe_dump(shown))
    (house.folder / "quicker.yml").write_text(quicker)
    address = f"{HOST}:{house.alertmanager_port}"
    arguments = [
        "prometheus-alertmanager", "--config.file=quicker.yml", "--storage.path=alertmanager",
        f"--web.listen-address={address}", "--cluster.listen-address=",
    ]  # fmt: skip
    with running("alertmanager", arguments, house.folder, cwd=house.folder) as process:
        until_ready(f"http://{address}/-/ready", process)
        yield


def _guarded(seen: Seen) -> Reply:
    """Answer as a Prometheus at which nothing fires, to whoever says who asks; as Mimir too, which is below a path."""
    basic = "Basic " + base64.b64encode(f"ana:{SECRET}".encode()).decode()
    known = seen.headers.get("authorization") in {f"Bearer {SECRET}", basic} or "x-scope-orgid" in seen.headers
    if not known:
        return error(401, "unauthorized", "who asks?")
    empty: dict[str, Json] = {"alerts": {"alerts": []}, "rules": {"groups": []}}
    last = seen.path.rsplit("/", 1)[-1]
    return success(empty.get(last, {"resultType": "vector", "result": []}))


@contextmanager
def house(folder: Path, database_url: str) -> Iterator[House]:
    """Make the folder, start everything in it, and let one incident be investigated."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(TLS / "loopback.pem", TLS / "loopback.key")
    with served(_guarded) as guarded, served(_guarded, tls=tls) as guarded_tls:
        made = House(folder, free_port(), free_port(), database_url, guarded, guarded_tls)
        with _started(made):
            yield made


@contextmanager
def _started(made: House) -> Iterator[None]:
    folder = made.folder
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("INQUEST_")}
    made.environment = {
        **inherited,
        "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
        "INQUEST_HOME": str(folder / "home"),
        "INQUEST_PORT": str(made.port),
        "TOKEN": SECRET,
        "PROMETHEUS_TOKEN": SECRET,
    }
    (folder / "password.txt").write_text(SECRET)
    (folder / "headers.txt").write_text("X-Scope-OrgID: shop\n")
    (folder / "our-ca.pem").write_bytes((TLS / "ca.pem").read_bytes())
    (folder / ".venv").symlink_to(BIN.parent)
    _prepare(made)
    with ExitStack() as starts:
        backend = starts.enter_context(start(open_scenario("checkout_pool"), now=datetime.now(UTC)))
        (folder / "inquest.yaml").write_text(yaml.safe_dump(_configuration(backend.prometheus_url)))
        (command,) = [command for command, how in TYPED.items() if isinstance(how, Start)]
        service = starts.enter_context(made.serving(command))
        until_ready(f"http://{HOST}:{made.port}/readyz", service)
        service.until_says("worker_started")
        starts.enter_context(_alertmanager(made))
        _investigate(made, backend.alert)
        yield


def _investigate(made: House, alert: bytes) -> None:
    """Post the alert of the recorded incident, and wait for its report."""
    token = (made.folder / "intake-token.txt").read_text().strip()
    posted = httpx2.post(
        f"http://{HOST}:{made.port}/v1/alerts/alertmanager", content=alert, trust_env=False,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )  # fmt: skip
    posted.raise_for_status()
    wait_until(lambda: list((made.folder / "reports").glob("*/r3")), "a report comes", patience_s=PATIENCE_S)
