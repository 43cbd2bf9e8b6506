"""A GitLab on loopback: objects as its REST API gives them, and pages by number with its headers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from inquest.domain.value import Json
from tests.fakes.loopback import Reply, Seen

JSON = {"Content-Type": "application/json"}
HOST = "https://gitlab.shop.example"


def user(name: str = "Ines Duarte") -> Json:
    return {"id": 71, "username": "ines", "name": name, "email": "ines@shop.example", "web_url": f"{HOST}/ines"}


def deployment(iid: int = 311, *, created: str, **changes: Json) -> dict[str, Json]:
    job: Json = {
        "id": 9001,
        "name": "deploy checkout 2.31.0",
        "status": "success",
        "started_at": created,
        "finished_at": None,
        "user": user(),
        "commit": {
            "id": "c" * 40,
            "title": "Raise worker concurrency",
            "message": "Raise worker concurrency\n\nSee !412",
        },
        "web_url": f"{HOST}/shop/checkout/-/jobs/9001",
    }
    return {
        "id": 42_311,
        "iid": iid,
        "ref": "main",
        "sha": "c" * 40,
        "created_at": created,
        "updated_at": created,
        "status": "success",
        "user": user(),
        "environment": {"id": 9, "name": "production"},
        "deployable": job,
        **changes,
    }


def merge_request(iid: int = 412, *, merged: str | None, **changes: Json) -> dict[str, Json]:
    return {
        "id": 4_201_412,
        "iid": iid,
        "title": "Raise worker concurrency for the spring sale",
        "description": "Raises worker concurrency to 64.",
        "state": "merged",
        "created_at": "2026-02-27T08:00:00.000Z",
        "updated_at": merged or "2026-03-01T11:59:00.000Z",
        "merged_at": merged,
        "closed_at": None,
        "author": user(),
        "sha": "a" * 40,
        "merge_commit_sha": "b" * 40,
        "squash_commit_sha": None,
        "web_url": f"{HOST}/shop/checkout/-/merge_requests/{iid}",
        **changes,
    }


def commit(sha: str = "d" * 40, *, committed: str, **changes: Json) -> dict[str, Json]:
    return {
        "id": sha,
        "short_id": sha[:8],
        "title": "Raise worker concurrency",
        "message": "Raise worker concurrency\n\nCo-authored-by: Tomas Brandt <tomas@shop.example>\n",
        "author_name": "Ines Duarte",
        "author_email": "ines@shop.example",
        "committer_email": "ines@shop.example",
        "authored_date": committed,
        "committed_date": committed,
        "created_at": committed,
        "web_url": f"{HOST}/shop/checkout/-/commit/{sha}",
        **changes,
    }


def page(rows: Sequence[Json], following: int | None = None) -> Reply:
    """Write one page of a list; `following` is the number of the next."""
    return Reply(
        200, json.dumps([*rows]).encode(), {**JSON, "X-Next-Page": "" if following is None else str(following)}
    )


def refusal(status: int, said: str, *, key: str = "message", **headers: str) -> Reply:
    return Reply(
        status,
        json.dumps({key: said}).encode(),
        {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}},
    )


def place(seen: Seen) -> tuple[str, str]:
    """Give (project, list) of a request: ("shop/checkout", "deployments")."""
    parts = seen.path.removeprefix("/api/v4/projects/").split("/")
    for name in ("deployments", "merge_requests", "commits"):
        if parts[-1] == name:
            inner = parts[:-2] if name == "commits" else parts[:-1]
            return "/".join(inner), name
    return "/".join(parts), ""


def serve(lists: Mapping[str, Sequence[Json]], seen: Seen) -> Reply:
    """Answer by the name of the list, for every project, and show the project itself."""
    project, name = place(seen)
    if not name:
        return Reply(200, json.dumps({"id": 1, "path_with_namespace": project}).encode())
    return page(lists.get(name, ()))
