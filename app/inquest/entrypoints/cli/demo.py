"""demo: a recorded incident through the running product: service, worker, database, real HTTP everywhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import typer

from inquest.bootstrap.home import Home, open_home
from inquest.bootstrap.observing import configure_telemetry
from inquest.configuration.sections import Configuration
from inquest.destinations.shared.words import STILL_GOING
from inquest.destinations.verification import VerifyResult
from inquest.destinations.verification import verify as verify_path
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.report import Report
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.beside import beside
from inquest.entrypoints.cli.children import Child, stop_all
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.showing import terminal_markdown
from inquest.entrypoints.cli.tell import teller
from inquest.errors import InquestError
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.judge import wrong_with
from inquest.scenarios.pack.format import CatalogueEntry, Truth
from inquest.scenarios.server import HOST, RecordedBackend, start
from inquest.settings import Settings, child_environment
from inquest.store.database import Database

PACK = "checkout_pool"
READY_S = 30.0
POST_TIMEOUT_S = 10.0
DELIVERY_PATIENCE_S = 60.0
INTAKE = "alertmanager"
LOOK_EVERY_S = 0.2


class DemoFailed(InquestError):
    """The demo could not be played to its end."""


@dataclass(frozen=True)
class Stage:
    """Where the demo plays: its folder, its ports and its secrets, all made for this one run."""

    folder: Path
    port: int
    token: str

    @property
    def reports(self) -> Path:
        """Give the folder that reports are written to."""
        return self.folder / "reports"

    @property
    def config(self) -> Path:
        """Give the configuration file."""
        return self.folder / "inquest.yaml"

    @property
    def url(self) -> str:
        """Give the service's address."""
        return f"http://{HOST}:{self.port}"

    def environment(self, backend: RecordedBackend) -> dict[str, str]:
        """Give what the demo's processes are told by their environment."""
        return {
            "INQUEST_HOME": os.fspath(self.folder),
            "INQUEST_HOST": HOST,
            "INQUEST_PORT": str(self.port),
            "INQUEST_LOG_LEVEL": "error",
            "INQUEST_DEMO_TOKEN": self.token,
            "INQUEST_DEMO_GITLAB_TOKEN": backend.gitlab_token,
        }


def demo(keep: Path | None, seed: int, *, as_json: bool) -> int:
    """Play the recorded incident, print the report, and check it against what really happened.

    What this process's environment says of another installation is left out of it. Exits 2 when the cause is
    wrong, a claim fails or the report does not verify.
    """
    began = time.monotonic()
    folder = keep or Path(tempfile.mkdtemp(prefix="inquest-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    stage = Stage(folder=folder.absolute(), port=_free_port(), token=secrets.token_urlsafe(24))
    say = _silent if as_json else typer.echo
    say("A recorded incident is played back as a Prometheus, a Loki and a GitLab on this machine.")
    settings = Settings(home=stage.folder, database_url=None, key_file=None, log_level="error", log_format="console")
    configure_telemetry(settings)
    with start(open_scenario(PACK, seed=seed), now=datetime.now(UTC)) as backend:
        stage.config.write_text(configuration_of(backend), encoding="utf-8")
        with open_home(settings) as home, _processes(stage, backend) as children:
            played = asyncio.run(_play(stage, home, backend, children, as_json=as_json))
    if keep is None:
        shutil.rmtree(stage.folder / "postgres")  # 40 MB that nobody asked to keep
    return _judge(played, stage, seconds=time.monotonic() - began, as_json=as_json)


@dataclass(frozen=True)
class Played:
    """What came of it, and what it should have been."""

    followed: following.Followed
    truth: Truth
    requests: int


async def _play(
    stage: Stage, home: Home, backend: RecordedBackend, children: Sequence[Child], *, as_json: bool
) -> Played:
    living = asyncio.ensure_future(_until_one_ends(children))
    database = Database(home.url, pool_size=2)
    try:
        await beside(living, _until_ready(stage))
        investigation_id = await _post(stage, backend.alert)
        if not as_json:
            typer.echo(f"Alertmanager's post is accepted: investigation {investigation_id}\n")
        watched = following.AtDatabase(database, "default", investigation_id)
        followed = await beside(living, following.follow(watched, teller(follow=not as_json, as_json=False)))
        await beside(living, following.when_delivered(database, investigation_id, timeout_s=DELIVERY_PATIENCE_S))
    finally:
        living.cancel()
        await database.aclose()
    return Played(followed=followed, truth=backend.scenario.header.truth, requests=len(backend.journal))


async def _until_one_ends(children: Sequence[Child]) -> None:
    """Watch over the processes. Raises InvariantBroken when one ends unasked."""
    while not any(child.has_ended() for child in children):  # noqa: ASYNC110  # a process has no event to wait for
        await asyncio.sleep(LOOK_EVERY_S)
    ended = ", ".join(f"{child.command} ended with {child.code}" for child in children if child.code is not None)
    msg = f"the demo cannot go on: {ended}"
    raise DemoFailed(msg)


async def _until_ready(stage: Stage) -> None:
    gives_up_at = time.monotonic() + READY_S
    async with httpx2.AsyncClient(timeout=POST_TIMEOUT_S, trust_env=False) as client:
        while time.monotonic() < gives_up_at:
            with contextlib.suppress(httpx2.TransportError):
                if (await client.get(f"{stage.url}/readyz")).status_code == httpx2.codes.OK:
                    return
            await asyncio.sleep(0.1)
    msg = f"the service was not ready in {READY_S:g} s"
    raise DemoFailed(msg)


async def _post(stage: Stage, body: bytes) -> str:
    """Post as Alertmanager does, and give the investigation that it opens."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {stage.token}"}
    async with httpx2.AsyncClient(timeout=POST_TIMEOUT_S, trust_env=False) as client:
        answer = await client.post(f"{stage.url}/v1/alerts/{INTAKE}", content=body, headers=headers)
    if answer.status_code != httpx2.codes.ACCEPTED:
        msg = f"the service answered the alert with {answer.status_code}"
        raise DemoFailed(msg)
    opened = answer.json()["investigations"]
    if not opened:
        msg = "the alert opened no investigation"
        raise DemoFailed(msg)
    return str(opened[0]["investigation_id"])


@contextlib.contextmanager
def _processes(stage: Stage, backend: RecordedBackend) -> Iterator[Sequence[Child]]:
    environment = child_environment(stage.environment(backend), own=False)
    children = [Child(command, stage.config, environment) for command in ("serve", "work")]
    try:
        for child in children:
            child.start()
        yield children
    finally:
        stop_all(children)


def configuration_of(backend: RecordedBackend) -> str:
    """Write the configuration that the demo runs with, as an operator would."""
    projects = sorted(str(one.project["path_with_namespace"]) for one in backend.scenario.changes.projects)
    section = {
        "version": 1,
        "workspaces": {
            "default": {
                "intakes": {INTAKE: {"type": "alertmanager", "auth": {"bearer_env": "INQUEST_DEMO_TOKEN"}}},
                "integrations": {
                    "prometheus": {"type": "prometheus", "url": backend.prometheus_url},
                    "loki": {"type": "loki", "url": backend.loki_url},
                    "gitlab": {
                        "type": "gitlab",
                        "url": backend.gitlab_url,
                        "projects": projects,
                        "credential": {
                            "profile": "gitlab-read",
                            "header": "PRIVATE-TOKEN",
                            "token_env": "INQUEST_DEMO_GITLAB_TOKEN",
                        },
                    },
                },
                "services": {one.name: _service(one) for one in backend.scenario.header.services},
                "destinations": {"reports": {"type": "folder", "path": "reports"}},
            }
        },
    }
    Configuration.model_validate(section)
    return json.dumps(section, indent=2) + "\n"  # JSON is YAML


def _service(entry: CatalogueEntry) -> dict[str, object]:
    """Write an entry of the service catalogue."""
    return {
        "match": entry.match,
        "kubernetes": {"namespace": entry.namespace, "workload": entry.workload},
        "repository": entry.repository,
        "depends_on": list(entry.depends_on),
    }


def _judge(played: Played, stage: Stage, *, seconds: float, as_json: bool) -> int:
    """Compare with the truth, verify the folder, and say where it lies."""
    folder = stage.reports / played.followed.id
    if not (folder / "latest").is_file():
        msg = f"the investigation ended as {played.followed.row['status']}, and its report did not arrive in {folder}"
        raise DemoFailed(msg)
    verified = verify_path(folder)
    newest = folder / (folder / "latest").read_text(encoding="utf-8").strip()
    report = Report.model_validate_json(json.dumps(json.loads((newest / "report.json").read_bytes())["report"]))
    if report.kind in STILL_GOING:
        msg = (
            f"the investigation ended as {played.followed.row['status']}, and {DELIVERY_PATIENCE_S:g} s later its report "
            f"was still on its way to {folder}: the newest revision there is '{report.kind}'"
        )
        raise DemoFailed(msg)
    wrong = _wrong(report.diagnosis, played.truth, verified)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "id": report.investigation_id,
                    "folder": str(newest),
                    "seconds": round(seconds, 1),
                    "requests": played.requests,
                    "wrong": wrong,
                }
            )
        )
    else:
        typer.echo("\n" + terminal_markdown((newest / "report.md").read_bytes()))
        typer.echo(f"\nThe report lies in {newest}")
        typer.echo(f"Open {newest / 'report.html'}, or check it: {_called_as()} verify {newest}")
        typer.echo(f"{seconds:.1f} s, {played.requests} requests to the recorded sources, no model, no key.")
        for problem in wrong:
            typer.echo(f"WRONG: {problem}", err=True)
    return Exit.FAILED if wrong else Exit.ANSWERED


def _called_as() -> str:
    """Give how this command was called: `make demo` puts no `inquest` on the PATH."""
    return sys.argv[0] if Path(sys.argv[0]).name == "inquest" else "inquest"


def _wrong(diagnosis: Diagnosis | None, truth: Truth, verified: VerifyResult) -> list[str]:
    if diagnosis is None:
        return ["there is no diagnosis"]
    found = [f"the report does not verify: {problem}" for problem in verified.problems]
    found += wrong_with(diagnosis, truth)
    found += [f"a claim fails: {one.claim.text} ({one.reason})" for one in diagnosis.non_validated_claims]
    return found


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        port: int = listening.getsockname()[1]
    return port


def _silent(_: str) -> None:
    """Say nothing: --json prints JSON only."""
