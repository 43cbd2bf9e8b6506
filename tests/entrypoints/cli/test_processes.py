"""serve, work, up and investigate as whole processes: killed, signalled, and nothing of them left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx2
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from inquest.entrypoints.cli.exits import Exit
from tests.bootstrap.files import OPEN_INTAKE, build, file_of
from tests.entrypoints.cli.beside import Machine
from tests.entrypoints.cli.running import environment, write_configuration
from tests.fakes.loopback import Loopback, Reply, Seen, loopback
from tests.fakes.prometheus import success
from tests.postgres import Database, NewDatabase
from tests.store.door import Door, arrival, firing
from tests.waiting import until

pytestmark = pytest.mark.e2e


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    write_configuration(tmp_path, "http://127.0.0.1:9")
    return Machine(tmp_path)


class Gate:
    """A Prometheus that says it is well, and holds every other question until it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.held = asyncio.Event()

    async def answer(self, seen: Seen) -> Reply:
        if seen.param("query") == "1":
            return success({"resultType": "scalar", "result": [1, "1"]})
        self.held.set()
        await self.open.wait()
        return success({"resultType": "matrix", "result": []} if seen.path.endswith("_range") else [])


@pytest.fixture
async def gate() -> Gate:
    return Gate()


@pytest.fixture
async def source(gate: Gate) -> AsyncIterator[Loopback]:
    async with loopback(gate.answer) as server:
        yield server


async def opened(database: Database, folder: Path) -> str:
    """Take an alert in, as the service does, and give its investigation."""
    door = Door(database.url, database.conninfo)
    (intake,) = build(file_of(intakes={"am": OPEN_INTAKE}), folder)["default"].intakes
    accepted = await door.take(arrival(firing(severity="critical"), into=intake))
    await door.aclose()
    return accepted.investigations[0].investigation_id


# ---- serve


async def test_a_second_service_on_a_port_is_told_and_the_first_one_leaves_nothing(machine: Machine) -> None:
    with machine.start("serve") as first:
        await machine.ready()
        with machine.start("serve") as second:
            assert await second.ends() == Exit.USAGE
        taken = f"127.0.0.1:{machine.port} cannot be listened on (Address already in use)"
        assert second.err == f"INQUEST_PORT: {taken}; is a service running there already?\n"

        assert await first.stops() == 0

    assert machine.processes() == {}
    assert list(machine.home.rglob("postmaster.pid")) == []
    assert "Traceback" not in first.err


async def test_a_service_that_is_stopped_while_its_database_starts_leaves_no_database(machine: Machine) -> None:
    with machine.start("serve") as service:
        await until(lambda: list(machine.home.rglob("postmaster.pid")))

        assert await service.stops() in {Exit.TERMINATED, 0}

    assert "Traceback" not in service.err
    assert machine.processes() == {}


# ---- up


async def test_up_starts_again_whatever_was_killed_and_stops_all_of_it(machine: Machine) -> None:
    with machine.start("up") as up:
        await machine.ready()
        await up.logs("worker_started")
        assert up.words == ["starting"]
        for part in ("inquest serve", "inquest work", "postgres -D"):
            killed = machine.the(part)
            os.kill(killed, signal.SIGKILL)
            await until(partial(_another, machine, part, killed), patience_s=60)
            await machine.ready()

        assert await up.stops() == 0

    assert machine.processes() == {}
    assert list(machine.home.rglob("postmaster.pid")) == []


def _another(machine: Machine, part: str, old: int) -> bool:
    return any(part in command and number != old for number, command in machine.processes().items())


async def test_up_ends_when_a_part_says_that_its_configuration_is_wrong(machine: Machine) -> None:
    with machine.start("serve"):
        await machine.ready()
        with machine.start("up") as up:
            assert await up.ends() == Exit.USAGE

        assert "INQUEST_PORT: " in up.err
        assert not [command for command in machine.processes().values() if "inquest work" in command]


async def test_up_with_a_broken_file_starts_nothing(machine: Machine) -> None:
    (machine.folder / "inquest.yaml").write_text("version: 1\nworkspaces: {default: {intake: {}}}\n")
    with machine.start("up") as up:
        assert await up.ends() == Exit.USAGE

    assert "inquest.yaml:2: workspaces.default.intake: unknown key; did you mean intakes?" in up.err
    assert not (machine.home / "postgres").exists()


# ---- work


async def test_a_follower_sees_a_worker_die_another_one_take_over_and_the_end(
    machine: Machine, database: NewDatabase, source: Loopback, gate: Gate
) -> None:
    made = database()
    write_configuration(machine.folder, source.url)
    machine.set(**{**environment(machine.folder, made.url), "LEASE_S": "1"})
    found = await opened(made, machine.folder)
    with machine.start("work") as first, machine.start("show", found, "--follow") as follower:
        await gate.held.wait()
        await follower.says("plan")
        first.process.kill()
        with machine.start("work") as second:
            await follower.says("take-over")
            gate.open.set()

            assert await follower.ends() == Exit.OPEN
            assert await second.stops() == 0

    words = [word for word in dict.fromkeys(follower.words) if not word.startswith("turn")]
    assert words.index("plan") < words.index("take-over") < words.index("diagnosis") < words.index("ended")
    assert "the last worker went silent: another worker goes on (generation 2, attempt 1)" in follower.out
    assert "\n# " in follower.out


async def test_a_scraper_of_a_worker_finds_its_investigation_counted(
    machine: Machine, database: NewDatabase, source: Loopback, gate: Gate
) -> None:
    made = database()
    gate.open.set()
    write_configuration(machine.folder, source.url)
    machine.set(**environment(machine.folder, made.url), WORKER_METRICS_PORT="0", OPERATOR_TOKEN="sesame")
    await opened(made, machine.folder)
    with machine.start("work") as worker:
        await worker.logs("working")
        (working,) = [line for line in worker.err.splitlines() if '"working"' in line]
        url = f"http://127.0.0.1:{json.loads(working)['metrics_port']}/metrics"
        async with httpx2.AsyncClient(trust_env=False) as client:

            async def counted() -> list[Sample]:
                answer = await client.get(url, headers={"Authorization": "Bearer sesame"})
                found = {one.name: one.samples for one in text_string_to_metric_families(answer.text)}
                samples = found["inquest_investigations"]
                return [one for one in samples if one.name.endswith("_total") and one.labels["status"] == "succeeded"]

            (ended,) = await until(counted, patience_s=60)
            refused = await client.get(url)
            assert await worker.stops() == 0
            with pytest.raises(httpx2.ConnectError):
                await client.get(url)

    assert ended.value == 1
    assert refused.status_code == 401


# ---- investigate


@pytest.mark.parametrize(
    ("number", "code", "in_background"),
    [
        (signal.SIGTERM, Exit.TERMINATED, False),
        (signal.SIGINT, Exit.INTERRUPTED, False),
        (signal.SIGTERM, Exit.TERMINATED, True),
    ],
    ids=["SIGTERM", "Ctrl-C", "SIGTERM in a script's background"],
)
async def test_an_investigation_that_is_interrupted_is_kept_and_a_worker_goes_on(
    machine: Machine,
    database: NewDatabase,
    source: Loopback,
    gate: Gate,
    *,
    number: signal.Signals,
    code: Exit,
    in_background: bool,
) -> None:
    made = database()
    write_configuration(machine.folder, source.url)
    machine.set(**environment(machine.folder, made.url), DRAIN_GRACE_S="0")
    (machine.folder / "alert.json").write_bytes(
        b'{"version": "4", "alerts": [{"status": "firing", "labels": {"alertname": "A", "severity": "critical"},'
        b' "annotations": {}, "startsAt": "2026-03-01T10:00:00Z", "endsAt": "0001-01-01T00:00:00Z"}]}'
    )
    with machine.start("investigate", "alert.json", "--follow", in_background=in_background) as command:
        await gate.held.wait()
        assert await command.stops(number) == code

    assert command.err == "stopped\n"
    assert _states(made) == [("queued", 1)]
    gate.open.set()
    with machine.start("work") as worker:
        await until(lambda: _states(made)[0][0] == "succeeded", patience_s=60)
        assert await worker.stops() == 0


def _states(database: Database) -> list[tuple[str, int]]:
    with psycopg.connect(database.conninfo) as connection:
        return connection.execute("select status, attempt from inquest.investigation").fetchall()
