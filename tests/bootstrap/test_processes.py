"""A worker as it is assembled: what it may take, whom it asks how they are, and what it closes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inquest.bootstrap import processes
from inquest.bootstrap.home import Home
from inquest.bootstrap.observing import configure_telemetry
from inquest.bootstrap.processes import (
    Process,
    build_worker,
    open_process,
    watch_health,
    watching_health,
)
from inquest.errors import ConfigurationError
from inquest.runtime.keys import InstallationKey
from inquest.settings import Settings
from inquest.store.investigations import PostgresInvestigations
from inquest.telemetry import create_metrics
from tests.bootstrap.files import NOBODY, OPEN_INTAKE, build, file_of, prometheus
from tests.bootstrap.installations import Installation
from tests.fakes.loopback import Hang, Reply, Seen, loopback
from tests.fakes.prometheus import success
from tests.store.door import Door, arrival, firing, intake
from tests.waiting import until


def nothing() -> None:
    """Keep nothing alive: the database is the test's."""


def home(door: Door, key: InstallationKey = NOBODY) -> Home:
    return Home(url=door.database.url, key=key, is_embedded=False, keep_alive=nothing)


@contextlib.asynccontextmanager
async def opened(door: Door, text: str, folder: Path) -> AsyncIterator[Process]:
    settings = Settings(lease_s=1.0, drain_grace_s=2.0)
    process = await open_process(settings, home(door), build(text, folder))
    try:
        yield process
    finally:
        await process.aclose()


@contextlib.asynccontextmanager
async def working(process: Process) -> AsyncIterator[None]:
    stop = asyncio.Event()
    running = asyncio.ensure_future(build_worker(process).run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def test_a_worker_leaves_the_workspaces_of_others_alone_and_uncharged(door: Door, tmp_path: Path) -> None:
    theirs = await door.take(arrival(firing(severity="critical"), into=intake(workspace="other", destinations=("x",))))
    (waiting,) = [one.investigation_id for one in theirs.investigations]
    async with opened(door, file_of(intakes={"am": OPEN_INTAKE}), tmp_path) as process, working(process):
        (mine,) = process.workspaces["default"].intakes
        ours = (await door.take(arrival(firing(severity="warning"), into=mine))).investigations[0].investigation_id
        rows = PostgresInvestigations(door.database, "default")
        await until(lambda: _ended(rows, ours))

    found = door.row("select status, generation, attempt from investigation where investigation_id = %s", waiting)
    assert found == {"status": "queued", "generation": 0, "attempt": 1}
    assert door.rows("select 1 from delivery where attempts > 0") == []


async def _ended(rows: PostgresInvestigations, investigation: str) -> bool:
    return (await rows.get(investigation)).ended_at is not None


async def test_a_key_of_another_installation_is_refused_and_leaves_no_connection(door: Door, tmp_path: Path) -> None:
    async with opened(door, file_of(intakes={"am": OPEN_INTAKE}), tmp_path):
        pass

    with pytest.raises(ConfigurationError, match="give every worker the same key file"):
        await open_process(Settings(), home(door, InstallationKey(bytes(32))), {})

    others = door.rows(
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    )
    assert len(others) <= 1  # the pool of the test itself


async def test_each_source_is_asked_how_it_is_and_a_hanging_one_holds_up_none(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "HEALTH_TIMEOUT_S", 0.2)

    def answer(seen: Seen) -> Reply | Hang:
        return Hang() if seen.path.startswith("/hangs") else success({"resultType": "scalar", "result": [1, "1"]})

    async with loopback(answer) as server:
        text = file_of(
            integrations={
                "hangs": prometheus(f"{server.url}/hangs"),
                "well": prometheus(server.url),
                "gone": prometheus("http://127.0.0.1:9"),
            }
        )
        async with opened(door, text, tmp_path) as process, watching_health(process):
            await until(lambda: len(process.health) == 3)
            assert process.health == {
                ("default", "hangs"): "failing",
                ("default", "well"): "ok",
                ("default", "gone"): "failing",
            }


async def test_two_workspaces_may_call_their_sources_alike(door: Door, tmp_path: Path) -> None:
    async with loopback(lambda _: success({"resultType": "scalar", "result": [1, "1"]})) as server:
        text = (
            '{"version": 1, "workspaces": {'
            f'"a": {{"integrations": {{"p": {{"type": "prometheus", "url": "{server.url}"}}}}}},'
            '"b": {"integrations": {"p": {"type": "prometheus", "url": "http://127.0.0.1:9"}}}}}'
        )
        async with opened(door, text, tmp_path) as process:
            watching = asyncio.ensure_future(watch_health(process))
            await until(lambda: len(process.health) == 2)
            watching.cancel()
            assert process.health == {("a", "p"): "ok", ("b", "p"): "failing"}


async def test_a_report_links_to_its_evidence_and_arrives_where_the_route_says(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    opened_one = await installation.open()
    process = Process(
        settings=Settings(lease_s=1.0),
        home=home(door),
        database=door.database,
        workspaces=installation.workspaces,
        metrics=create_metrics(),
    )
    async with working(process):
        await until(lambda: (tmp_path / "reports" / opened_one / "latest").exists() and not _due(door))

    newest = tmp_path / "reports" / opened_one / (tmp_path / "reports" / opened_one / "latest").read_text().strip()
    assert (newest / "report.md").is_file()


def _due(door: Door) -> bool:
    return bool(door.rows("select 1 from delivery where state in ('planned', 'reserved')"))


def test_a_dsn_that_is_none_is_told_without_being_repeated() -> None:
    with pytest.raises(ConfigurationError, match=r"^INQUEST_SENTRY_DSN: this is no DSN") as refused:
        configure_telemetry(Settings(sentry_dsn="https://CANARY@nowhere"))  # type: ignore[arg-type]  # as from a variable

    assert "CANARY" not in str(refused.value)
