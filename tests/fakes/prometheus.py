"""Prometheus' HTTP API as Prometheus 2.42 answered it, byte for byte (tests/data/prometheus), or scripted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from inquest.domain.value import Json
from tests.fakes.loopback import Reply, Seen

RECORDED = Path(__file__).parents[1] / "data" / "prometheus"


def recorded(name: str) -> Reply:
    """Give the recorded answer `name` with its status and content type."""
    head = (RECORDED / f"{name}.headers").read_text()
    status = int(head.split(" ", 2)[1])
    kind = next(line.split(":", 1)[1].strip() for line in head.splitlines() if line.lower().startswith("content-type:"))
    return Reply(status, (RECORDED / f"{name}.json").read_bytes(), {"Content-Type": kind})


def success(data: Json, **more: Json) -> Reply:
    """Write a success of the API."""
    return Reply(200, json.dumps({"status": "success", "data": data, **more}).encode())


def error(status: int, kind: str, said: str) -> Reply:
    """Write an error of the API."""
    return Reply(status, json.dumps({"status": "error", "errorType": kind, "error": said}).encode())


def route(seen: Seen) -> str:
    """Name the endpoint of a request: query, query_range, series, labels, values, metadata, rules, alerts."""
    last = seen.path.rsplit("/", 1)[-1]
    return last if seen.path.startswith("/api/v1/") else ""


def serve(answers: Mapping[str, Reply], seen: Seen) -> Reply:
    """Answer by endpoint; what has no answer is Prometheus' own 404."""
    return answers.get(route(seen), recorded("notfound"))
