"""The OpenAPI document: every example has the shape it is an example of, and so has every answer that is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from inquest.entrypoints.http.examples import POST_BODY
from inquest.sources.alertmanager import parse
from tests.docs.test_http_reference import APP
from tests.entrypoints.http.service import AUTH, Service
from tests.entrypoints.http.test_investigations import LIST, opened, run_one
from tests.store.door import Door

DOCUMENT: dict[str, Any] = APP.openapi()
METHODS = ("get", "post", "delete")


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in methods:
                yield f"{method.upper()} {path}", methods[method]


def problems(schema: Any, value: Any) -> list[str]:  # noqa: ANN401  # JSON
    """Say where `value` does not have the shape that the document gives it."""
    whole = {**schema, "components": DOCUMENT["components"]}
    return [f"{list(error.absolute_path)}: {error.message}" for error in Draft202012Validator(whole).iter_errors(value)]


def examples(content: dict[str, Any]) -> list[Any]:
    found = [one["value"] for one in content.get("examples", {}).values()]
    return [*found, content["example"]] if "example" in content else found


def contents() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, operation in operations():
        for status, answer in operation["responses"].items():
            for media_type, content in answer.get("content", {}).items():
                yield f"{name} {status}", media_type, content


def test_every_answer_has_an_example_of_its_shape() -> None:
    for where, media_type, content in contents():
        assert content.get("schema"), (where, media_type)
        assert examples(content), (where, media_type)
        for example in examples(content):
            assert problems(content["schema"], example) == [], (where, media_type)


def test_only_answers_without_a_body_have_no_example() -> None:
    bare = {
        f"{name} {status}" for name, one in operations() for status, a in one["responses"].items() if "content" not in a
    }
    assert bare == {f"GET {LIST}/{{investigation_id}}/events 204"}


def test_an_error_is_told_by_one_of_its_own_codes() -> None:
    for where, _, content in contents():
        for name, example in content.get("examples", {}).items():
            assert example["value"]["error"]["code"] == name, where


def test_every_route_has_a_summary_and_every_parameter_an_example_or_bounds() -> None:
    for name, operation in operations():
        assert operation["summary"], name
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            told = {*schema, *(key for one in schema.get("anyOf", ()) for key in one)}
            assert told & {"examples", "enum", "default", "minimum", "maxLength", "$ref"}, (name, parameter["name"])
            for example in schema.get("examples", ()):
                assert problems(schema, example) == [], (name, parameter["name"])


def test_operators_routes_say_how_they_refuse() -> None:
    for name, operation in operations():
        if LIST in name:
            assert {"401", "404", "410", "422", "500", "503"} <= set(operation["responses"]), name
        if name.startswith(("POST /v1/inv", "DELETE")):
            assert "409" in operation["responses"], name


def test_the_example_of_a_post_is_one_that_its_intake_understands() -> None:
    post = parse(json.dumps(POST_BODY).encode())
    assert (post.quarantine, post.quarantined_alerts, [alert.name for alert in post.alerts]) == (
        None, 0, ["CheckoutErrorRatioHigh"],
    )  # fmt: skip


# ---- what is really answered


def schema_of(method: str, path: str, status: int) -> Any:  # noqa: ANN401  # JSON
    return DOCUMENT["paths"][path][method]["responses"][str(status)]["content"]["application/json"]["schema"]


async def test_answers_have_the_shapes_of_the_document(service: Service, rows: Door, tmp_path: Path) -> None:
    one = LIST + "/{investigation_id}"
    found = await run_one(rows, tmp_path)
    waiting = await opened(rows, "s")
    asked: list[tuple[str, str, str]] = [
        ("get", LIST, LIST),
        ("get", one, f"{LIST}/{found}"),
        ("get", f"{one}/events", f"{LIST}/{found}/events"),
        ("get", f"{one}/report", f"{LIST}/{found}/report"),
        ("post", f"{one}/cancel", f"{LIST}/{waiting}/cancel"),
        ("post", f"{one}/cancel", f"{LIST}/{found}/cancel"),
        ("post", f"{one}/rerun", f"{LIST}/{found}/rerun"),
        ("delete", one, f"{LIST}/{found}"),
        ("get", one, f"{LIST}/{found}"),
        ("get", LIST, f"{LIST}?limit=0"),
        ("get", one, f"{LIST}/{'f' * 32}"),
        ("get", "/healthz", "/healthz"),
        ("get", "/readyz", "/readyz"),
    ]
    statuses = []
    for method, route, path in asked:
        answer = await service.send(method.upper(), path, AUTH)
        statuses.append(answer.status_code)
        assert problems(schema_of(method, route, answer.status_code), answer.json()) == [], (method, path)
    assert statuses == [200, 200, 200, 200, 200, 409, 201, 200, 410, 422, 404, 200, 200]
    posted = await service.client.post("/v1/alerts/am", json=POST_BODY)
    assert problems(schema_of("post", "/v1/alerts/{intake}", 202), posted.json()) == []


async def test_a_refused_post_has_the_shape_of_the_document(service: Service) -> None:
    answer = await service.client.post("/v1/alerts/am", content=b"x", headers={"Content-Encoding": "zstd"})
    assert answer.status_code == 415
    assert problems(schema_of("post", "/v1/alerts/{intake}", 415), answer.json()) == []
