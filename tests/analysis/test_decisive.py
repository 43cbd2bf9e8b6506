import pytest

from inquest.analysis.decisive import decisive_in, decisive_series, decisive_state
from inquest.analysis.failure_markers import Marked, new_failures
from inquest.analysis.metric_names import metric_names
from inquest.domain.observation import Signal
from inquest.domain.signals import Other, SignalContent
from tests.builders import at, logs, matrix, series, window

REASON = "kube_pod_container_status_last_terminated_reason"
POD: SignalContent = Other(value={"pods": [{"name": "a", "reason": "OOMKilled"}]})


@pytest.mark.parametrize(
    ("signal", "content", "cause"),
    [
        ("workloads", POD, "resource.memory_limit"),
        ("logs", POD, None),
        ("workloads", Other(value={"pods": [{"name": "OOMKilled"}]}), None),
        ("metrics", matrix(series([0.0, 1.0], metric=REASON, reason="OOMKilled")), "resource.memory_limit"),
        ("metrics", matrix(series([0.0, 0.0], metric=REASON, reason="OOMKilled")), None),
        ("metrics", matrix(series([1.0], metric="anything", reason="OOMKilled")), None),
        ("logs", logs((at(0), "ROOT CAUSE: OOMKilled")), None),
    ],
)
def test_only_what_a_platform_reports_is_decisive(signal: Signal, content: SignalContent, cause: str | None) -> None:
    assert decisive_in(signal, content) == cause


def test_a_word_that_is_not_listed_decides_nothing() -> None:
    assert decisive_state("workloads", "Completed") is None
    assert decisive_series({"__name__": REASON, "reason": "Completed"}, 1.0) is None


@pytest.mark.parametrize(
    ("rule", "lines", "found"),
    [
        ("new in the incident", [(1, "panic: nil map")], [Marked("panic", 1, 0)]),
        ("as often as before", [(-200, "panic: x"), (1, "panic: y")], []),
        ("more often than before", [(-200, "fatal x"), (1, "fatal x"), (2, "fatal x")], [Marked("fatal", 2, 1)]),
        ("ordinary lines", [(1, "request served in 5 ms"), (2, "5xx ratio is 0")], []),
        ("a server error", [(1, "GET / status=503 in 2ms")], [Marked("server error", 1, 0)]),
        ("after the window", [(90, "panic: later")], []),
    ],
)
def test_a_hard_failure_counts_when_it_is_new_or_above_baseline(
    rule: str, lines: list[tuple[float, str]], found: list[Marked]
) -> None:
    content = logs(*((at(minute), line) for minute, line in lines))
    assert list(new_failures([("logs", content)], window().incident, window().baseline)) == found, rule


def test_a_decisive_state_is_a_hard_failure() -> None:
    found = new_failures([("workloads", POD)], window().incident, window().baseline)
    assert [one.marker for one in found] == ["resource.memory_limit"]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (
            'sum by (a) (rate(errors_total{code=~"5.."}[5m])) / rate(requests_total[5m]) > 0.5',
            "errors_total requests_total",
        ),
        ("histogram_quantile(0.9, sum(rate(lat_bucket[5m])) by (le))", "lat_bucket"),
        ('{__name__="up"}', "up"),
        ("max_over_time(up[1h:5m] offset 1h)", "up"),
        ('{app="a"} |= "error"', ""),
        ("avg:system.cpu.user{host:a}", "avg:system.cpu.user"),
        ("", ""),
    ],
)
def test_the_metrics_of_an_expression(expression: str, names: str) -> None:
    assert metric_names(expression) == frozenset(names.split())
