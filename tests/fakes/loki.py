"""A Loki on loopback: scripted answers, or one that keeps lines and gives them by time, limit and direction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inquest.domain.value import Json, Labels
from tests.fakes.loopback import Reply, Seen

TEXT = {"Content-Type": "text/plain; charset=utf-8"}
STATS: Json = {"streams": 1, "chunks": 2, "entries": 3, "bytes": 4_000}


def success(data: Json, **more: Json) -> Reply:
    """Write a success of the query endpoints."""
    return Reply(200, json.dumps({"status": "success", "data": data, **more}).encode())


def streams(*rows: Json) -> Json:
    """Write the data of a log query."""
    return {"resultType": "streams", "result": [*rows], "stats": {"summary": {"execTime": 0.1}}}


def stream(labels: Labels, *values: tuple[int, str]) -> Json:
    """Write one stream."""
    return {"stream": {**labels}, "values": [[str(at), line] for at, line in values]}


def matrix(labels: Labels, *points: tuple[float, str]) -> Json:
    """Write the data of a metric query."""
    return {"resultType": "matrix", "result": [{"metric": {**labels}, "values": [list(one) for one in points]}]}


def stats(**changes: int) -> Reply:
    """Write the answer of index/stats."""
    return Reply(200, json.dumps({**(STATS if isinstance(STATS, dict) else {}), **changes}).encode())


def refusal(status: int, said: str) -> Reply:
    """Write a refusal as Loki does, in plain text."""
    return Reply(status, f"{said}\n".encode(), TEXT)


def route(seen: Seen) -> str:
    """Name the endpoint of a request: query_range, labels, values, series, stats."""
    return seen.path.rsplit("/", 1)[-1] if seen.path.startswith("/loki/api/v1/") else ""


def serve(answers: Mapping[str, Reply], seen: Seen) -> Reply:
    """Answer by endpoint; what has no answer is Loki's own 404."""
    return answers.get(route(seen), refusal(404, "404 page not found"))


@dataclass
class Kept:
    """A Loki that keeps lines: (nanoseconds, labels, line), each stream in the order of its lines."""

    lines: Sequence[tuple[int, Labels, str]]
    scan_bytes: int = 4_000

    def __call__(self, seen: Seen) -> Reply:
        if route(seen) == "stats":
            return stats(bytes=self.scan_bytes)
        if route(seen) != "query_range":
            return refusal(404, "404 page not found")
        start, end, limit = (int(seen.param(name)) for name in ("start", "end", "limit"))
        forward = seen.param("direction") == "forward"
        ordered = sorted((one for one in self.lines if start <= one[0] < end), key=lambda one: one[0])
        chosen = ordered[:limit] if forward else ordered[::-1][:limit]
        found: dict[tuple[tuple[str, str], ...], list[tuple[int, str]]] = {}
        for at, labels, line in chosen:
            found.setdefault(tuple(sorted(labels.items())), []).append((at, line))
        return success(streams(*(stream(dict(labels), *values) for labels, values in reversed(found.items()))))
