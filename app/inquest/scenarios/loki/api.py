"""The endpoints of Loki that an investigation reads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.http import Reply, Request, go_json, text
from inquest.scenarios.loki.lines import Entry, Lines, Stream, TooMuch
from inquest.scenarios.loki.logql import LogqlRefused, LogQuery, MetricQuery, parse, parse_selector
from inquest.scenarios.loki.parameters import (
    BadParameter,
    TimeRange,
    entry_limit,
    is_forward,
    moment_ns,
    step_ms,
    time_range,
)
from inquest.scenarios.numbers import plain_value, sample_time

_JSON = "application/json; charset=UTF-8"
_NO_SNIFF = ("x-content-type-options", "nosniff")
_FIRST_NS, _LAST_NS = -(2**63), 2**63


class LokiApi:
    """Answers requests over recorded `lines`, as of the clock's moment."""

    def __init__(self, lines: Lines, *, clock: RecordedClock) -> None:
        self._lines = lines
        self._clock = clock
        self._endpoints: dict[str, Callable[[Request], Reply]] = {
            "query_range": self._query_range,
            "query": self._query,
            "labels": self._labels,
            "label": self._labels,
            "series": self._series,
            "index/stats": self._index_stats,
            "status/buildinfo": _buildinfo,
        }

    def answer(self, request: Request) -> Reply:
        """Answer one request; every refusal is a reply too."""
        endpoint = self._endpoint(request.segments)
        if endpoint is None:
            return text(404, "404 page not found\n", _NO_SNIFF)
        if request.method not in ("GET", "POST"):
            return Reply(405, "text/plain; charset=utf-8", b"")
        try:
            return endpoint(request)
        except (LogqlRefused, BadParameter, TooMuch) as refused:
            return text(400, f"{refused}\n", _NO_SNIFF)

    def _endpoint(self, segments: tuple[str, ...]) -> Callable[[Request], Reply] | None:
        match segments:
            case ("ready",):
                return lambda _: text(200, "ready\n")
            case ("loki", "api", "v1", "label", name, "values"):
                return lambda request: self._label_values(request, name)
            case ("loki", "api", "v1", *rest):
                return self._endpoints.get("/".join(rest))
            case _:
                return None

    @property
    def _now_ns(self) -> int:
        return self._clock.now_ms() * 1_000_000

    def _seen(self, asked: TimeRange) -> TimeRange:
        """Cut the range at the horizon: a later line has not been written yet."""
        return TimeRange(asked.start_ns, min(asked.end_ns, self._now_ns + 1))

    def _query_range(self, request: Request) -> Reply:
        asked = time_range(request, self._now_ns)
        limit, forward = entry_limit(request), is_forward(request)
        if request.first("interval"):
            raise BadParameter("the recorded backend does not thin out lines: leave `interval` out")
        query = parse(request.first("query"))
        if isinstance(query, LogQuery):
            seen = self._seen(asked)
            entries = self._lines.select(query, seen.start_ns, seen.end_ns, limit=limit, forward=forward)
            return _streams(entries)
        step_ns = step_ms(request, asked) * 1_000_000
        times = range(asked.start_ns, asked.end_ns + 1, step_ns)
        columns = self._lines.count(query, times, horizon_ns=self._now_ns)
        rows = ",".join(
            f'{{"metric":{go_json(dict(labels))},"values":[{_points(times, column)}]}}'
            for labels, column in sorted(columns.items())
        )
        return _data("matrix", rows, entries=0)

    def _query(self, request: Request) -> Reply:
        at = moment_ns(request.first("time"), self._now_ns)
        query: LogQuery | MetricQuery = parse(request.first("query"))
        if isinstance(query, LogQuery):
            raise BadParameter(
                "log queries are not supported as an instant query type, "
                "please change your query to a range query type",
            )
        columns = self._lines.count(query, [at], horizon_ns=self._now_ns)
        rows = ",".join(
            f'{{"metric":{go_json(dict(labels))},"value":{_points([at], column)}}}'
            for labels, column in sorted(columns.items())
        )
        return _data("vector", rows, entries=0)

    def _labels(self, request: Request) -> Reply:
        return _names({name for stream in self._asked(request, "query") for name, _ in stream.labels})

    def _label_values(self, request: Request, name: str) -> Reply:
        found = (dict(stream.labels).get(name) for stream in self._asked(request, "query"))
        return _names({value for value in found if value is not None})

    def _series(self, request: Request) -> Reply:
        found = [dict(stream.labels) for stream in self._asked(request, "match[]", "match")]
        return _json({"status": "success", "data": found})

    def _asked(self, request: Request, *names: str) -> list[Stream]:
        """Give the streams with lines in the range that pass any selector in the parameters `names`."""
        seen = self._seen(time_range(request, self._now_ns))
        selectors = [parse_selector(one) for name in names for one in request.all(name) if one] or [()]
        found = {one.labels: one for matchers in selectors for one in self._lines.matching(matchers)}
        return [one for _, one in sorted(found.items()) if one.between(seen.start_ns, seen.end_ns)]

    def _index_stats(self, request: Request) -> Reply:
        seen = self._seen(time_range(request, self._now_ns))
        volume = self._lines.volume(parse_selector(request.first("query")), seen.start_ns, seen.end_ns)
        return _json(
            {"streams": volume.streams, "chunks": volume.chunks, "entries": volume.entries, "bytes": volume.bytes}
        )


def _streams(entries: list[Entry]) -> Reply:
    """Write lines by stream, keeping within each stream the order they were selected in."""
    grouped = groupby(sorted(entries, key=lambda entry: entry.labels), key=lambda entry: entry.labels)
    rows = ",".join(
        go_json({"stream": dict(labels), "values": [[str(entry.time_ns), entry.line] for entry in group]})
        for labels, group in grouped
    )
    return _data("streams", rows, entries=len(entries))


def _points(times_ns: range | list[int], column: list[float | None]) -> str:
    return ",".join(
        f'[{sample_time(time // 1_000_000)},"{plain_value(value)}"]'
        for time, value in zip(times_ns, column, strict=True)
        if value is not None
    )


def _data(kind: str, rows: str, *, entries: int) -> Reply:
    stats = go_json({"summary": {"totalEntriesReturned": entries, "execTime": 0.001}})
    body = f'{{"status":"success","data":{{"resultType":"{kind}","result":[{rows}],"stats":{stats}}}}}'
    return Reply(200, _JSON, body.encode())


def _names(found: set[str]) -> Reply:
    """Write sorted names. Loki leaves `data` out when there are none."""
    return _json({"status": "success", "data": sorted(found)} if found else {"status": "success"})


def _buildinfo(_request: Request) -> Reply:
    return _json(
        {
            "version": "3.0.0",
            "revision": "recorded",
            "branch": "recorded",
            "buildUser": "",
            "buildDate": "",
            "goVersion": "",
        }
    )


def _json(value: object) -> Reply:
    return Reply(200, _JSON, (go_json(value) + "\n").encode())
