"""The reference of the HTTP API names every route, parameter and error of the application."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from inquest.domain.intake import Accepted, Arrival, Keyed
from inquest.domain.investigation import Status
from inquest.entrypoints.http import problems
from inquest.entrypoints.http.alerts import Door
from inquest.entrypoints.http.app import HttpParts, create_app
from inquest.entrypoints.http.health import Health
from inquest.entrypoints.http.streams import Streams
from inquest.runtime.clock import RandomIds
from inquest.store.halts import Halt
from inquest.telemetry import create_metrics
from tests.docs.pages import code, table

API = "docs/reference/http-api.md"


class Nobody:
    """Stands where an application has its database: routes are listed, none is called."""

    async def accept(self, receipt_id: str, arrival: Arrival, members: Sequence[Keyed]) -> Accepted:
        raise NotImplementedError

    async def versions(self, ids: Collection[str]) -> Mapping[str, tuple[int, Status]]:
        raise NotImplementedError

    async def halt(self, workspace: str, *, actor: str) -> bool:
        raise NotImplementedError

    async def resume(self, workspace: str) -> bool:
        raise NotImplementedError

    async def standing(self) -> Collection[Halt]:
        raise NotImplementedError

    async def missing(self) -> str | None:
        raise NotImplementedError

    async def exposition(self) -> bytes:
        raise NotImplementedError


NOBODY = Nobody()
APP = create_app(
    HttpParts(
        door=Door(intakes={}, sources={}, intake=NOBODY, ids=RandomIds(), metrics=create_metrics()),
        readers={},
        streams=Streams(NOBODY.versions),
        halts=NOBODY,
        health=Health(missing=NOBODY.missing, exposition=NOBODY.exposition),
        token=None,
        release="inquest/0",
    )
)


def test_every_route_is_listed() -> None:
    listed = {tuple(code(row[0])[0].split(" ")) for row in table(API, "Routes")}
    served = {(method.upper(), path) for path, methods in APP.openapi()["paths"].items() for method in methods}
    assert listed == {*served, ("GET", "/openapi.json")}


def test_every_parameter_is_listed() -> None:
    listed = {(row[0], code(row[1])[0]) for row in table(API, "Parameters")}
    assert listed == {
        ("all of them" if name == "workspace" else _short(path), name)
        for path, methods in APP.openapi()["paths"].items()
        for operation in methods.values()
        for name in _parameters(operation)
    }


def _short(path: str) -> str:
    last = path.rsplit("/", 1)[-1]
    return "list" if last == "investigations" else last


def _parameters(operation: dict[str, Any]) -> list[str]:
    return [one["name"] for one in operation.get("parameters", ()) if one["in"] != "path"]


def test_every_answer_of_the_document_is_listed() -> None:
    listed = {row[0] for row in table(API, "Errors")}
    answered = {
        status
        for methods in APP.openapi()["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
        if status[0] in "45"
    }
    assert answered <= listed


def test_every_error_that_the_table_of_the_code_knows_is_listed() -> None:
    listed = {(row[0], word) for row in table(API, "Errors") for word in code(row[1])}
    assert {(str(status), word) for _, status, word in problems.STATUS} <= listed
