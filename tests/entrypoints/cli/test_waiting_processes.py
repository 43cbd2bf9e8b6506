"""A question over the deaths of every process: nobody holds it, nothing of it is lost, and it takes one answer."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inquest.entrypoints.http.examples import POST_BODY
from tests.bootstrap.questions import ASKING
from tests.entrypoints.cli.beside import Machine
from tests.entrypoints.cli.running import write_configuration
from tests.waiting import until

pytestmark = pytest.mark.e2e
PATIENCE_S = 60.0
LIST = "/v1/investigations"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    write_configuration(tmp_path, "http://127.0.0.1:9", **ASKING)
    return Machine(tmp_path)


class Api:
    """The service of a machine, asked anew each time: it may have been killed in between."""

    def __init__(self, machine: Machine) -> None:
        self._url = f"http://127.0.0.1:{machine.port}"

    async def send(self, method: str, path: str, body: object = None) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self._url, trust_env=False, timeout=PATIENCE_S) as client:
            return await client.request(method, path, json=body)

    async def one(self, investigation: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.send("GET", f"{LIST}/{investigation}")).json()
        return found

    async def kinds(self, investigation: str) -> list[str]:
        page = (await self.send("GET", f"{LIST}/{investigation}/events")).json()
        return [event["body"]["kind"] for event in page["events"]]

    async def stands(self, investigation: str, status: str) -> bool:
        return bool((await self.one(investigation))["status"] == status)

    async def answers(self, investigation: str, *said: str) -> list[int]:
        body = {"interrupt_id": f"{investigation}-q1"}
        sent = (self.send("POST", f"{LIST}/{investigation}/answer", {**body, "answer": one}) for one in said)
        return sorted(answer.status_code for answer in await asyncio.gather(*sent))


async def killed_and_back(machine: Machine, part: str) -> None:
    """Kill one process of `up`, and wait until it has started another in its place."""
    number = machine.the(part)
    os.kill(number, signal.SIGKILL)

    def another() -> bool:
        return any(part in command and found != number for found, command in machine.processes().items())

    await until(another, patience_s=PATIENCE_S)
    await machine.ready()


async def test_what_waits_outlives_every_process_takes_one_answer_and_goes_on(machine: Machine) -> None:
    api = Api(machine)
    with machine.start("up") as up:
        await machine.ready()
        await up.logs("worker_started")
        posted = await api.send("POST", "/v1/alerts/am", POST_BODY)
        (found,) = [one["investigation_id"] for one in posted.json()["investigations"]]
        await until(partial(api.stands, found, "waiting"), patience_s=PATIENCE_S)
        recorded = await api.kinds(found)

        for part in ("inquest work", "postgres -D", "inquest work"):
            await killed_and_back(machine, part)

        assert await api.stands(found, "waiting")
        assert await api.kinds(found) == recorded
        assert recorded[-1] == "interrupt_raised"
        assert await api.answers(found, "payments", "payments-eu") == [200, 409]
        await killed_and_back(machine, "inquest serve")
        assert await api.answers(found, "payments") == [409]
        await until(partial(api.stands, found, "succeeded"), patience_s=PATIENCE_S)

        assert (await api.one(found))["service"] in {"payments", "payments-eu"}
        assert (await api.kinds(found)).count("interrupt_answered") == 1
        assert await up.stops() == 0
