from __future__ import annotations

import json
from typing import Any

import pytest

from inquest.domain.value import Json
from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.gitlab.api import GitlabApi
from inquest.scenarios.gitlab.throttle import Throttle
from inquest.scenarios.http import Reply
from inquest.scenarios.pack.changes import Changes, Object, RecordedCommit, RecordedMergeRequest, RecordedProject
from tests.scenarios.builders import NOW, Monotonic, request

TOKEN = "glpat-right"


def deployment(number: int, day: int, status: str = "success", environment: str = "production") -> Object:
    at = f"2026-02-{day:02d}T10:00:00.000Z"
    job: Json = {"finished_at": f"2026-02-{day:02d}T11:00:00.000Z"}
    return {
        "id": 900 + number,
        "iid": number,
        "ref": "main",
        "status": status,
        "created_at": at,
        "updated_at": at,
        "environment": {"name": environment},
        "deployable": job,
    }


def merge_request(number: int, day: int, state: str = "merged") -> RecordedMergeRequest:
    at = f"2026-02-{day:02d}T09:00:00.000Z"
    return RecordedMergeRequest(
        merge_request={
            "id": 800 + number,
            "iid": number,
            "title": f"Change {number}",
            "state": state,
            "created_at": at,
            "updated_at": at,
            "merged_at": at if state == "merged" else None,
            "target_branch": "main",
        },
        diffs=({"new_path": f"file{number}", "diff": "@@"},),
    )


def commit(sha: str, day: int, *paths: str) -> RecordedCommit:
    at = f"2026-02-{day:02d}T08:00:00.000+01:00"
    return RecordedCommit(commit={"id": sha, "created_at": at, "committed_date": at, "title": sha}, paths=paths)


PROJECT = RecordedProject(
    project={"id": 42, "path_with_namespace": "shop/checkout", "default_branch": "main"},
    deployments=(
        deployment(1, 20),
        deployment(2, 21, status="failed"),
        deployment(3, 22, environment="staging"),
        deployment(4, 23),
    ),
    merge_requests=(merge_request(1, 20), merge_request(2, 21, "opened"), merge_request(3, 22)),
    commits=(commit("aaa1", 20, "deploy/values.yaml"), commit("bbb2", 22, "src/pool.py", "README.md")),
)


def api(project: RecordedProject = PROJECT, *, per_minute: int = 1000, monotonic: Monotonic | None = None) -> GitlabApi:
    clock = RecordedClock(NOW, monotonic or Monotonic())
    changes = Changes(projects=(project,))
    return GitlabApi(changes, clock=clock, token=TOKEN, throttle=Throttle(per_minute, clock=clock))


def get(path: str, *parameters: tuple[str, str], server: GitlabApi | None = None) -> Reply:
    return (server or api()).answer(request(f"/api/v4{path}", *parameters, private_token=TOKEN))


def body(reply: Reply) -> Any:  # noqa: ANN401 - JSON of many shapes
    return json.loads(reply.body)


def numbers(path: str, *parameters: tuple[str, str]) -> list[int]:
    reply = get(f"/projects/42/{path}", *parameters)
    assert reply.status == 200, reply.body
    return [one["iid"] for one in body(reply)]


@pytest.mark.parametrize(
    "headers",
    [{}, {"private_token": "glpat-wrong"}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}],
)
def test_without_the_right_token_everything_is_401(headers: dict[str, str]) -> None:
    for path in ("/api/v4/projects/42", "/api/v4/nosuch", "/"):
        reply = api().answer(request(path, **headers))
        assert (reply.status, reply.body) == (401, b'{"message":"401 Unauthorized"}')


def test_the_token_is_taken_from_either_header() -> None:
    assert get("/projects/42").status == 200
    assert api().answer(request("/api/v4/projects/42", authorization=f"Bearer {TOKEN}")).status == 200


@pytest.mark.parametrize("name", ["42", "shop%2Fcheckout", "shop%2fcheckout"])
def test_a_project_is_named_by_number_or_encoded_path(name: str) -> None:
    assert body(get(f"/projects/{name}"))["id"] == 42


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/projects/43", '{"message":"404 Project Not Found"}'),
        ("/projects/shop/checkout", '{"message":"404 Project Not Found"}'),  # the slash must be encoded
        ("/projects/42/merge_requests/99", '{"message":"404 Not found"}'),
        ("/projects/42/deployments/1", '{"message":"404 Not found"}'),
        ("/projects/42/repository/commits/ffff", '{"message":"404 Commit Not Found"}'),
        ("/projects/42/pipelines", '{"error":"404 Not Found"}'),
        ("/users", '{"error":"404 Not Found"}'),
    ],
)
def test_what_is_not_there_is_404(path: str, said: str) -> None:
    reply = get(path)
    assert (reply.status, reply.body.decode()) == (404, said)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([], [1, 2, 3, 4]),
        ([("order_by", "updated_at"), ("sort", "desc")], [4, 3, 2, 1]),
        ([("status", "success")], [1, 3, 4]),
        ([("environment", "production")], [1, 2, 4]),
        ([("updated_after", "2026-02-21T10:00:00Z")], [2, 3, 4]),
        ([("updated_before", "2026-02-21T10:00:00.000Z")], [1, 2]),
        ([("updated_after", "2026-02-22")], [3, 4]),
        ([("finished_after", "2026-02-22T10:30:00Z"), ("order_by", "finished_at"), ("status", "success")], [3, 4]),
    ],
)
def test_deployments_are_filtered_and_ordered(parameters: list[tuple[str, str]], expected: list[int]) -> None:
    assert numbers("deployments", *parameters) == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([], [3, 2, 1]),
        ([("state", "merged")], [3, 1]),
        ([("state", "opened"), ("scope", "all")], [2]),
        ([("scope", "created_by_me")], []),
        ([("updated_after", "2026-02-21T00:00:00Z"), ("order_by", "updated_at"), ("sort", "asc")], [2, 3]),
        ([("merged_after", "2026-02-21T00:00:00Z")], [3]),
        ([("target_branch", "other")], []),
    ],
)
def test_merge_requests_are_filtered_and_ordered(parameters: list[tuple[str, str]], expected: list[int]) -> None:
    assert numbers("merge_requests", *parameters) == expected


def test_a_merge_request_has_its_changes_and_its_diffs() -> None:
    whole = body(get("/projects/42/merge_requests/3"))
    assert (whole["iid"], "changes" in whole) == (3, False)
    assert body(get("/projects/42/merge_requests/3/diffs")) == [{"new_path": "file3", "diff": "@@"}]
    changes = body(get("/projects/42/merge_requests/3/changes"))
    assert (changes["changes"], changes["changes_count"]) == ([{"new_path": "file3", "diff": "@@"}], "1")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([], ["bbb2", "aaa1"]),
        ([("since", "2026-02-21T00:00:00Z")], ["bbb2"]),
        ([("until", "2026-02-20T07:00:00Z")], ["aaa1"]),
        ([("until", "2026-02-20T06:59:59Z")], []),
        ([("path", "deploy")], ["aaa1"]),
        ([("path", "README.md"), ("ref_name", "main")], ["bbb2"]),
        ([("path", "READ")], []),
    ],
)
def test_commits_are_filtered_newest_first(parameters: list[tuple[str, str]], expected: list[str]) -> None:
    found = body(get("/projects/42/repository/commits", *parameters))
    assert [one["id"] for one in found] == expected


def test_a_commit_is_found_by_the_beginning_of_its_hash() -> None:
    assert body(get("/projects/42/repository/commits/bbb"))["id"] == "bbb2"


def test_what_is_created_later_than_the_clock_is_not_there_yet() -> None:
    monotonic = Monotonic()
    soon: Object = {**deployment(1, 1), "created_at": "2026-03-01T12:00:10Z", "updated_at": "2026-03-01T12:00:10Z"}
    server = api(PROJECT.but(deployments=(soon,)), monotonic=monotonic)

    assert body(get("/projects/42/deployments", server=server)) == []
    monotonic.seconds += 10
    assert len(body(get("/projects/42/deployments", server=server))) == 1


def test_pages_carry_gitlabs_headers() -> None:
    reply = get("/projects/42/deployments", ("per_page", "1"), ("page", "2"), ("sort", "asc"), ("private_token", "x"))
    headers = dict(reply.headers)
    link = headers.pop("link")

    assert [one["iid"] for one in body(reply)] == [2]
    assert headers == {
        "x-next-page": "3",
        "x-page": "2",
        "x-per-page": "1",
        "x-prev-page": "1",
        "x-total": "4",
        "x-total-pages": "4",
    }
    address = "http://127.0.0.1:1/prefix/api/v4/projects/42/deployments?sort=asc"
    assert link == ", ".join(
        f'<{address}&page={page}&per_page=1>; rel="{name}"'
        for name, page in (("prev", 1), ("next", 3), ("first", 1), ("last", 4))
    )


def test_the_last_page_has_no_next_and_a_page_beyond_it_is_empty() -> None:
    last = get("/projects/42/deployments", ("per_page", "3"), ("page", "2"))
    beyond = get("/projects/42/deployments", ("page", "9"))

    assert (dict(last.headers)["x-next-page"], len(body(last))) == ("", 1)
    assert (dict(beyond.headers)["x-next-page"], body(beyond)) == ("", [])


def test_commits_are_not_counted() -> None:
    headers = dict(get("/projects/42/repository/commits").headers)
    assert ("x-total" in headers, headers["x-page"]) == (False, "1")


def test_a_page_holds_at_most_a_hundred() -> None:
    many = PROJECT.but(deployments=tuple(deployment(number, 20) for number in range(1, 151)))
    reply = get("/projects/42/deployments", ("per_page", "1000"), server=api(many))
    assert (len(body(reply)), dict(reply.headers)["x-per-page"]) == (100, "100")


@pytest.mark.parametrize(
    ("path", "parameters", "status", "said"),
    [
        ("deployments", [("order_by", "status")], 400, {"error": "order_by does not have a valid value"}),
        ("deployments", [("status", "bad")], 400, {"error": "status does not have a valid value"}),
        ("deployments", [("updated_after", "soon")], 400, {"error": "updated_after is invalid"}),
        ("deployments", [("page", "x")], 400, {"error": "page is invalid"}),
        ("deployments", [("page", "9" * 5000)], 400, {"error": "page is invalid"}),
        (
            "deployments",
            [("finished_after", "2026-01-01")],
            400,
            {"message": "400 Bad request - `finished_at` filter and `finished_at` sorting must be paired"},
        ),
        ("merge_requests", [("state", "gone")], 400, {"error": "state does not have a valid value"}),
        ("merge_requests", [("labels", "bug")], 400, {"error": "labels is not available in the recorded backend"}),
    ],
)
def test_a_bad_parameter_is_400(path: str, parameters: list[tuple[str, str]], status: int, said: Json) -> None:
    reply = get(f"/projects/42/{path}", *parameters)
    assert (reply.status, body(reply)) == (status, said)


def test_paging_by_offset_ends_at_fifty_thousand() -> None:
    assert get("/projects/42/deployments", ("page", "501"), ("per_page", "100")).status == 405
    assert get("/projects/42/deployments", ("page", "500"), ("per_page", "100")).status == 200


def test_one_request_too_many_in_a_minute_is_429_until_the_next_minute() -> None:
    monotonic = Monotonic()
    server = api(per_minute=2, monotonic=monotonic)
    monotonic.seconds += 15

    statuses = [get("/version", server=server).status for _ in range(3)]
    refused = get("/version", server=server)
    headers = dict(refused.headers)

    assert statuses == [200, 200, 429]
    assert (refused.body, refused.content_type) == (b"Retry later\n", "text/plain; charset=utf-8")
    assert (headers["retry-after"], headers["ratelimit-limit"], headers["ratelimit-remaining"]) == ("45", "2", "0")
    assert headers["ratelimit-resettime"] == "Sun, 01 Mar 2026 12:01:00 GMT"
    monotonic.seconds += 45
    assert get("/version", server=server).status == 200


def test_nothing_can_be_written() -> None:
    reply = api().answer(request("/api/v4/projects/42/merge_requests", method="POST", private_token=TOKEN))
    assert reply.status == 404
