"""Values worked out by hand; the differential test says that Prometheus agrees."""

from __future__ import annotations

import math
from array import array

import pytest

from inquest.scenarios import bounds
from inquest.scenarios.promql.evaluate import Matrix, evaluate_instant, evaluate_range
from inquest.scenarios.promql.grid import Scalar, Vector, every
from inquest.scenarios.promql.parse import parse
from inquest.scenarios.promql.refusals import ExecutionFailed, ParseFailed
from inquest.scenarios.promql.samples import Labels, Samples, Series, labels_of, stale_times

MINUTE = 60_000
LATER = 10**15


def series(name: str, *points: tuple[int, float], stale: tuple[int, ...] = (), **labels: str) -> Series:
    times, values = array("q", [at for at, _ in points]), array("d", [value for _, value in points])
    return Series(labels_of({"__name__": name, **labels}), times, values, stale)


# Requests each minute from 0 to 10: 60 more each time, so 1/s. Errors begin at minute 5.
RECORDING = Samples(
    [
        series("requests", *((m * MINUTE, 60.0 * m) for m in range(11)), pod="a"),
        series("requests", *((m * MINUTE, 120.0 * m) for m in range(11)), pod="b"),
        series("errors", *((m * MINUTE, max(0.0, 6.0 * (m - 5))) for m in range(11)), pod="a"),
        series("restarted", (0, 50.0), (MINUTE, 110.0), (2 * MINUTE, 10.0), (3 * MINUTE, 70.0)),
        series("gauge", (0, 4.0), (MINUTE, 8.0), (2 * MINUTE, 6.0)),
        series("bucket", (0, 10.0), le="0.1"),
        series("bucket", (0, 30.0), le="0.5"),
        series("bucket", (0, 40.0), le="+Inf"),
    ]
)


def at(expression: str, at_ms: int, *, horizon_ms: int = LATER, samples: Samples = RECORDING) -> dict[Labels, float]:
    value = evaluate_instant(parse(expression), samples, at_ms, horizon_ms=horizon_ms)
    assert isinstance(value, Vector)
    return {labels: number for labels, (number,) in value.columns.items() if number is not None}


def only(expression: str, at_ms: int, **more: int) -> float:
    (number,) = at(expression, at_ms, **more).values()  # type: ignore[arg-type]
    return number


@pytest.mark.parametrize(
    ("expression", "at_ms", "expected"),
    [
        ("gauge", 2 * MINUTE, 6.0),
        ("gauge", 2 * MINUTE - 1, 8.0),
        ("gauge", 7 * MINUTE, 6.0),  # exactly the lookback old: still there (2.x)
        ("gauge offset 1m", 2 * MINUTE, 8.0),
        ("gauge offset -1m", 0, 8.0),
        # Five minutes hold six samples (closed interval): 300 requests in 300 s.
        ('rate(requests{pod="a"}[5m])', 10 * MINUTE, 1.0),
        ('increase(requests{pod="a"}[5m])', 10 * MINUTE, 300.0),
        # 50, 110, reset, 10, 70: 60 + 10 + 60 = 130 over 180 s. The window ends on the last sample and
        # begins 120 s before the first: more than 1.1 sample distances, so half a distance (30 s) is added,
        # and the counter would have been zero 180 * 50 / 130 = 69 s before, which does not bind.
        ("increase(restarted[5m])", 3 * MINUTE, 130 * (180 + 30) / 180),
        ("irate(restarted[5m])", 2 * MINUTE, 10 / 60),
        ("delta(gauge[2m])", 2 * MINUTE, 2.0),
        ("avg_over_time(gauge[2m])", 2 * MINUTE, 6.0),
        ("avg_over_time(gauge[1m])", 2 * MINUTE, 7.0),
        ("min_over_time(gauge[2m])", 2 * MINUTE, 4.0),
        ("max_over_time(gauge[2m])", 2 * MINUTE, 8.0),
        ("sum_over_time(gauge[2m])", 2 * MINUTE, 18.0),
        ("count_over_time(gauge[1m])", 2 * MINUTE, 2.0),
        ("last_over_time(gauge[1m])", 2 * MINUTE, 6.0),
        ("stddev_over_time(gauge[2m])", 2 * MINUTE, math.sqrt(8 / 3)),
        ("sum(rate(requests[5m]))", 10 * MINUTE, 3.0),
        ("avg(requests)", MINUTE, 90.0),
        ("min(requests)", MINUTE, 60.0),
        ("max(requests)", MINUTE, 120.0),
        ("count(requests)", MINUTE, 2.0),
        ('sum(rate(errors[5m])) / sum(rate(requests{pod="a"}[5m]))', 10 * MINUTE, 0.1),
        ('errors / ignoring (le) requests{pod="a"}', 10 * MINUTE, 0.05),
        ('errors / on (pod) requests{pod="a"}', 10 * MINUTE, 0.05),
        ("errors > 29", 10 * MINUTE, 30.0),
        ("29 < errors", 10 * MINUTE, 30.0),
        ("errors > bool 31", 10 * MINUTE, 0.0),
        ("-errors", 10 * MINUTE, -30.0),
        ("errors / 0", 10 * MINUTE, math.inf),
        ("errors % 7", 10 * MINUTE, 2.0),
        ("2 ^ (errors / 10)", 10 * MINUTE, 8.0),
        # Rank 20 of 40 is 10 of the 20 in (0.1, 0.5]: half way.
        ("histogram_quantile(0.5, bucket)", 0, 0.3),
        ("histogram_quantile(0.1, bucket)", 0, 0.04),
        ("histogram_quantile(0.99, bucket)", 0, 0.5),  # above the highest finite bound nothing is known
        ("histogram_quantile(-1, bucket)", 0, -math.inf),
        ("histogram_quantile(2, bucket)", 0, math.inf),
    ],
)
def test_an_expression_has_its_value(expression: str, at_ms: int, expected: float) -> None:
    assert only(expression, at_ms) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "expression",
    ["gauge", "rate(gauge[1m])", "errors > 31", 'requests{pod="c"}', "nosuch", "sum(nosuch)", "errors * nosuch"],
)
def test_what_is_not_there_has_no_value(expression: str) -> None:
    assert at(expression, 10 * MINUTE) == {}


def test_a_histogram_without_an_infinite_bucket_has_no_quantile() -> None:
    assert math.isnan(only('histogram_quantile(0.5, bucket{le!="+Inf"})', 0))


def test_groups_are_by_the_labels_named() -> None:
    assert at("sum by (pod) (requests)", MINUTE) == {(("pod", "a"),): 60.0, (("pod", "b"),): 120.0}
    assert at("sum without (pod) (requests)", MINUTE) == {(): 180.0}


def test_matchers_are_anchored_and_see_absent_labels_as_empty() -> None:
    assert set(at('{__name__=~"request|errors"}', MINUTE)) == {(("__name__", "errors"), ("pod", "a"))}
    assert len(at('{__name__=~".+",pod=""}', MINUTE)) == 5
    assert set(at('requests{pod!~"a|c"}', MINUTE)) == {(("__name__", "requests"), ("pod", "b"))}


def test_arithmetic_drops_the_metric_name_and_a_filter_keeps_it() -> None:
    assert list(at("gauge * 1", 0)) == [()]
    assert list(at("gauge > 0", 0)) == [(("__name__", "gauge"),)]
    assert list(at("gauge > bool 0", 0)) == [()]
    assert list(at("last_over_time(gauge[5m])", 0)) == [(("__name__", "gauge"),)]


def test_a_scalar_expression_is_a_scalar() -> None:
    value = evaluate_instant(parse("1 + 2 * 3 > bool 6"), RECORDING, 0, horizon_ms=LATER)
    assert isinstance(value, Scalar)
    assert value.column == [1.0]


def test_a_bare_window_gives_the_raw_samples() -> None:
    value = evaluate_instant(parse("gauge[1m]"), RECORDING, 2 * MINUTE, horizon_ms=LATER)
    assert value == Matrix((((("__name__", "gauge"),), ((MINUTE, 8.0), (2 * MINUTE, 6.0))),))


def test_a_range_query_evaluates_at_each_step_and_leaves_out_empty_ones() -> None:
    matrix = evaluate_range(parse("errors > 5"), RECORDING, every(5 * MINUTE, 8 * MINUTE, MINUTE), horizon_ms=LATER)
    assert matrix == Matrix(
        (((("__name__", "errors"), ("pod", "a")), ((6 * MINUTE, 6.0), (7 * MINUTE, 12.0), (8 * MINUTE, 18.0))),)
    )


def test_a_range_query_of_a_window_is_refused() -> None:
    with pytest.raises(ParseFailed, match='invalid expression type "range vector" for range query'):
        evaluate_range(parse("gauge[1m]"), RECORDING, every(0, 1, 1), horizon_ms=LATER)


def test_no_sample_later_than_the_horizon_is_seen() -> None:
    assert only('requests{pod="a"}', 10 * MINUTE, horizon_ms=6 * MINUTE) == 360.0
    assert only('count_over_time(requests{pod="a"}[10m])', 10 * MINUTE, horizon_ms=6 * MINUTE) == 7.0


def test_a_series_that_went_stale_is_gone_at_once_and_its_past_is_not() -> None:
    gone = Samples([series("up", (0, 1.0), (MINUTE, 1.0), stale=(2 * MINUTE,))])
    assert len(at("up", 2 * MINUTE - 1, samples=gone)) == 1
    assert at("up", 2 * MINUTE, samples=gone) == {}
    assert len(at("count_over_time(up[5m])", 2 * MINUTE, samples=gone)) == 1


@pytest.mark.parametrize(
    ("times", "end", "expected"),
    [
        ([0, 30, 60], 90, ()),
        ([0, 30, 60], 106, (90,)),  # the recording went on for more than one and a half intervals
        ([0, 30, 120], 150, (60,)),  # a gap
        ([0, 44, 74], 90, ()),  # one late scrape is no gap
    ],
)
def test_a_series_is_stale_one_interval_after_its_last_scrape(
    times: list[int], end: int, expected: tuple[int, ...]
) -> None:
    assert stale_times(array("q", times), 30, end) == expected


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("errors - on () requests", "found duplicate series for the match group {} on the right hand-side"),
        ("requests - on () errors", "multiple matches for labels: many-to-one matching must be explicit"),
        ('rate({__name__=~"requests|errors"}[5m])', "vector cannot contain metrics with the same labelset"),
        ('-{__name__=~"requests|errors"}', "vector cannot contain metrics with the same labelset"),
    ],
)
def test_an_ambiguous_result_is_refused_in_prometheus_words(expression: str, reason: str) -> None:
    with pytest.raises(ExecutionFailed) as refused:
        at(expression, 10 * MINUTE)
    assert str(refused.value).startswith(reason)


def test_a_query_over_too_many_samples_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = every(0, 10 * MINUTE, MINUTE)
    evaluate_range(parse("rate(requests[10m])"), RECORDING, wide, horizon_ms=LATER)
    monkeypatch.setattr(bounds, "MAX_SAMPLES", 100)
    with pytest.raises(ExecutionFailed, match="query processing would load too many samples"):
        evaluate_range(parse("rate(requests[10m])"), RECORDING, wide, horizon_ms=LATER)
