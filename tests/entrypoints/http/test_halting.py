"""The kill switch through the API: what is halted, since when, by whom; its metric; intake goes on."""

from __future__ import annotations

import httpx2
import pytest

from tests.entrypoints.http.service import AUTH, Service
from tests.entrypoints.http.test_document import DOCUMENT, problems
from tests.entrypoints.http.test_investigations import opened
from tests.store.door import Door

HALTED = {"workspace": "default"}


async def ask(service: Service, method: str, path: str, **params: str) -> httpx2.Response:
    return await service.client.request(method, path, headers=AUTH, params=params)


async def test_a_halt_is_shown_until_it_is_resumed_and_each_may_be_sent_again(service: Service) -> None:
    first = await ask(service, "POST", "/v1/halt", by="ana")
    again = await ask(service, "POST", "/v1/halt", by="bob")

    (halt,) = first.json()["halts"]
    assert (first.status_code, halt["workspace"], halt["actor"]) == (200, None, "ana")
    assert again.json() == first.json() == (await service.get("/v1/halts")).json()
    schema = DOCUMENT["paths"]["/v1/halts"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert problems(schema, first.json()) == []

    assert (await ask(service, "POST", "/v1/resume")).json() == {"halts": []}
    assert (await ask(service, "POST", "/v1/resume")).json() == {"halts": []}


async def test_one_workspace_is_halted_and_resumed_by_its_name(service: Service) -> None:
    halted = await ask(service, "POST", "/v1/halt", **HALTED)
    everything = await ask(service, "POST", "/v1/resume")
    resumed = await ask(service, "POST", "/v1/resume", **HALTED)

    assert [one["workspace"] for one in halted.json()["halts"]] == ["default"]
    assert everything.json() == halted.json(), "a halt by name outlives the resume of everything"
    assert resumed.json() == {"halts": []}


@pytest.mark.parametrize("path", ["/v1/halt", "/v1/resume"])
async def test_another_workspace_is_not_there_and_nobody_halts_without_a_token(service: Service, path: str) -> None:
    assert (await ask(service, "POST", path, workspace="rival")).status_code == 404
    assert (await service.send("POST", path, {})).status_code == 401
    assert (await service.get("/v1/halts")).json() == {"halts": []}


async def test_the_metric_says_what_is_halted_and_alerts_are_taken_in(service: Service, rows: Door) -> None:
    async def halted() -> str:
        lines = (await service.get("/metrics")).text.splitlines()
        return next(line for line in lines if line.startswith("inquest_halted{"))

    assert await halted() == 'inquest_halted{workspace="default"} 0.0'
    await ask(service, "POST", "/v1/halt")
    assert await halted() == 'inquest_halted{workspace="default"} 1.0'
    found = await opened(rows, "s")
    assert (await service.get(f"/v1/investigations/{found}")).json()["status"] == "queued"
    await ask(service, "POST", "/v1/resume")
    assert await halted() == 'inquest_halted{workspace="default"} 0.0'
