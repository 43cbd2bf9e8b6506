from __future__ import annotations

import json
from typing import Any

import pytest

from inquest.scenarios import bounds
from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.http import Reply
from inquest.scenarios.loki.api import LokiApi
from inquest.scenarios.loki.lines import Lines, Stream
from tests.scenarios.builders import NOW, NOW_S, Monotonic, request, stream

LINES = [
    stream([(-50, "a info"), (-40, "a error one"), (-30, "a error two")], app="shop", pod="a"),
    stream([(-45, "b error one"), (-20, "b info")], app="shop", pod="b"),
    stream([(-10, "unrelated"), (30, "not yet")], app="other", pod="c"),
]


def api(*streams: Stream, monotonic: Monotonic | None = None) -> LokiApi:
    return LokiApi(Lines(streams or LINES), clock=RecordedClock(NOW, monotonic or Monotonic()))


def get(path: str, *parameters: tuple[str, str], server: LokiApi | None = None) -> Reply:
    return (server or api()).answer(request(f"/loki/api/v1/{path}", *parameters))


def found(reply: Reply) -> Any:  # noqa: ANN401 - JSON of many shapes
    assert (reply.status, reply.content_type) == (200, "application/json; charset=UTF-8"), reply.body
    return json.loads(reply.body)


def lines_of(reply: Reply) -> dict[str, list[str]]:
    streams = found(reply)["data"]["result"]
    return {one["stream"]["pod"]: [line for _, line in one["values"]] for one in streams}


def test_lines_come_newest_first_by_stream_with_nanosecond_times() -> None:
    answer = found(get("query_range", ("query", '{app="shop"} |= "error"')))

    assert answer["data"]["resultType"] == "streams"
    assert answer["data"]["result"] == [
        {
            "stream": {"app": "shop", "pod": "a"},
            "values": [
                [str((NOW_S - 30) * 10**9), "a error two"],
                [str((NOW_S - 40) * 10**9), "a error one"],
            ],
        },
        {"stream": {"app": "shop", "pod": "b"}, "values": [[str((NOW_S - 45) * 10**9), "b error one"]]},
    ]


def test_the_limit_is_over_all_streams_and_keeps_the_end_that_the_direction_begins_with() -> None:
    newest = get("query_range", ("query", '{app="shop"}'), ("limit", "2"))
    oldest = get("query_range", ("query", '{app="shop"}'), ("limit", "2"), ("direction", "forward"))

    assert lines_of(newest) == {"a": ["a error two"], "b": ["b info"]}
    assert lines_of(oldest) == {"a": ["a info"], "b": ["b error one"]}


def test_a_range_holds_its_start_and_not_its_end() -> None:
    ends = [("start", str((NOW_S - 40) * 10**9)), ("end", str((NOW_S - 30) * 10**9))]
    assert lines_of(get("query_range", ("query", '{pod="a"}'), *ends)) == {"a": ["a error one"]}


@pytest.mark.parametrize(
    "start",
    [str(NOW_S - 35), f"{NOW_S - 35}.5", str((NOW_S - 35) * 10**9), "2026-03-01T11:59:25Z"],
)
def test_a_time_is_seconds_nanoseconds_or_rfc_3339(start: str) -> None:
    assert lines_of(get("query_range", ("query", '{pod="a"}'), ("start", start))) == {"a": ["a error two"]}


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ('|= "error" != "two"', ["a error one"]),
        ('|~ "err.r (one|two)$"', ["a error two", "a error one"]),
        ('!~ "(?i)ERROR"', ["a info"]),
    ],
)
def test_line_filters_keep_what_they_say(filters: str, kept: list[str]) -> None:
    assert lines_of(get("query_range", ("query", '{pod="a"} ' + filters))) == {"a": kept}


def test_a_line_is_not_there_before_it_was_written() -> None:
    monotonic = Monotonic()
    server = api(monotonic=monotonic)
    asked = ("query", '{app="other"}'), ("end", str(NOW_S + 3600))

    assert lines_of(get("query_range", *asked, server=server)) == {"c": ["unrelated"]}
    monotonic.seconds += 31
    assert lines_of(get("query_range", *asked, server=server)) == {"c": ["not yet", "unrelated"]}


def test_counts_are_over_the_half_open_window_before_each_time() -> None:
    asked = [
        ("query", 'sum by (app) (count_over_time({app="shop"} |= "error" [20s]))'),
        ("start", str(NOW_S - 60)),
        ("end", str(NOW_S)),
        ("step", "10"),
    ]
    data = found(get("query_range", *asked))["data"]

    assert data["resultType"] == "matrix"
    # Lines at -45, -40 and -30; (t - 20, t].
    assert data["result"] == [
        {
            "metric": {"app": "shop"},
            "values": [[NOW_S - 40, "2"], [NOW_S - 30, "3"], [NOW_S - 20, "1"]],
        }
    ]


def test_an_instant_metric_query_is_a_vector() -> None:
    data = found(get("query", ("query", 'rate({app="shop"}[100s])')))["data"]

    assert (data["resultType"], data["result"]) == (
        "vector",
        [
            {"metric": {"app": "shop", "pod": "a"}, "value": [NOW_S, "0.03"]},
            {"metric": {"app": "shop", "pod": "b"}, "value": [NOW_S, "0.02"]},
        ],
    )


def test_a_count_at_a_later_time_holds_no_line_that_is_not_written_yet() -> None:
    asked = ("query", 'count_over_time({app="other"}[1h])'), ("time", str(NOW_S + 600))
    (one,) = found(get("query", *asked))["data"]["result"]
    assert one["value"] == [NOW_S + 600, "1"]


def test_labels_values_and_series_are_those_of_streams_with_lines_in_the_range() -> None:
    assert found(get("labels")) == {"status": "success", "data": ["app", "pod"]}
    assert found(get("label/pod/values", ("query", '{app="shop"}')))["data"] == ["a", "b"]
    assert found(get("label/pod/values", ("start", str(NOW_S - 15))))["data"] == ["c"]
    assert found(get("series", ("match[]", '{pod="a"}'), ("match[]", '{pod="b"}')))["data"] == [
        {"app": "shop", "pod": "a"},
        {"app": "shop", "pod": "b"},
    ]


def test_no_labels_is_an_answer_without_data() -> None:
    assert found(get("label/nosuch/values")) == {"status": "success"}


def test_index_stats_count_what_a_selector_covers() -> None:
    stats = found(get("index/stats", ("query", '{app="shop"}')))
    assert stats == {"streams": 2, "chunks": 2, "entries": 5, "bytes": 45}


@pytest.mark.parametrize(
    ("path", "parameters", "reason"),
    [
        ("query_range", [("query", '{app="shop"')], "parse error at line 1, col 12: syntax error"),
        ("query_range", [("query", '{app=~".*"}')], "queries require at least one regexp or equality matcher"),
        (
            "query_range",
            [("query", '{app="shop"}'), ("limit", "6000")],
            "max entries limit per query exceeded, limit > max_entries_limit_per_query (6000 > 5000)\n",
        ),
        ("query_range", [("query", '{app="shop"}'), ("limit", "0")], "limit must be a positive value\n"),
        ("query_range", [("query", '{app="shop"}'), ("limit", "x")], 'parsing "x": invalid syntax'),
        ("query_range", [("query", '{app="shop"}'), ("direction", "up")], "invalid direction 'up'"),
        (
            "query_range",
            [("query", '{app="shop"}'), ("start", "10"), ("end", "10")],
            "end timestamp must not be before or equal to start time",
        ),
        ("query_range", [("query", '{app="shop"}'), ("start", "0")], "the query time range exceeds the limit"),
        ("query_range", [("query", '{app="shop"}'), ("start", "9" * 5000)], "value out of range"),
        ("query_range", [("query", 'rate({app="shop"}[1m])'), ("step", "0")], "zero or negative query resolution"),
        ("query_range", [("query", 'rate({app="shop"}[1m])'), ("step", "0.1")], "exceeded maximum resolution of 11,000"),
        ("query_range", [("query", '{app="shop"}'), ("interval", "5s")], "interval"),
        ("query", [("query", '{app="shop"}')], "log queries are not supported as an instant query type"),
        ("series", [("match[]", '{app="shop"} |= "x"')], "only label matchers are supported"),
        ("index/stats", [], "parse error at line 1, col 1"),
    ],
)  # fmt: skip
def test_a_bad_request_is_a_plain_text_400(path: str, parameters: list[tuple[str, str]], reason: str) -> None:
    reply = get(path, *parameters)

    assert (reply.status, reply.content_type) == (400, "text/plain; charset=utf-8")
    assert reason in reply.body.decode()


def test_more_series_than_loki_gives_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_LOG_SERIES", 1)
    reply = get("query", ("query", 'rate({app="shop"}[100s])'))
    assert (reply.status, b"maximum of series" in reply.body) == (400, True)


def test_a_query_over_too_many_lines_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("query", '{app="shop"} |= "x" |= "y"')
    monkeypatch.setattr(bounds, "MAX_LINE_TESTS", 10)
    assert get("query_range", asked).status == 200
    monkeypatch.setattr(bounds, "MAX_LINE_TESTS", 9)
    reply = get("query_range", asked)
    assert (reply.status, b"would read too many lines" in reply.body) == (400, True)


def test_a_catastrophic_line_filter_ends() -> None:
    long = stream([(-1, "a" * 20_000 + "!")], app="shop")
    assert lines_of(get("query_range", ("query", '{app="shop"} |~ "(a+)+$"'), server=api(long))) == {}


def test_unknown_paths_and_methods_are_refused() -> None:
    assert (get("nosuch").status, get("nosuch").body) == (404, b"404 page not found\n")
    assert api().answer(request("/loki/api/v1/labels", method="DELETE")).status == 405
    assert api().answer(request("/ready")).body == b"ready\n"
