from __future__ import annotations

import math
from array import array

import pytest

from inquest.errors import ConfigurationError
from inquest.scenarios.pack.format import MetricMetadata
from inquest.scenarios.pack.openmetrics import read, write
from inquest.scenarios.promql.samples import Series, labels_of

TEXT = """\
# TYPE requests counter
# HELP requests Requests, "all" of them.
requests_total{pod="a",path="\\"x\\\\y\\""} 1 100.250
requests_total{pod="a",path="\\"x\\\\y\\""} 2.5 115.250
requests_total{pod="b"} 7 100
# TYPE temperature gauge
# UNIT temperature celsius
temperature NaN 100
temperature -Inf 115
temperature 1e-9 130.5
# EOF"""


def lines(text: str) -> list[str]:
    return text.split("\n")


def test_samples_are_read_by_series_with_whole_milliseconds() -> None:
    series, metadata = read(lines(TEXT), "metrics.om", interval_ms=15_000)
    by_labels = {one.labels: one for one in series}
    first = by_labels[labels_of({"__name__": "requests_total", "pod": "a", "path": '"x\\y"'})]
    temperature = by_labels[labels_of({"__name__": "temperature"})]

    assert (list(first.times), list(first.values)) == ([100_250, 115_250], [1.0, 2.5])
    assert math.isnan(temperature.values[0])
    assert list(temperature.values[1:]) == [-math.inf, 1e-9]
    assert metadata == {
        "requests_total": MetricMetadata("counter", 'Requests, "all" of them.', ""),
        "temperature": MetricMetadata("gauge", "", "celsius"),
    }


def test_a_series_that_stops_before_the_end_is_stale_one_interval_later() -> None:
    series, _ = read(lines(TEXT), "metrics.om", interval_ms=15_000)
    assert {dict(one.labels)["__name__"]: one.stale for one in series if "a" not in dict(one.labels).values()} == {
        "requests_total": (115_000,),
        "temperature": (),
    }


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x 1", "m.om:1: expected NAME"),
        ("x 1 100\ny{a=b} 1 100\n# EOF", "m.om:2: unreadable labels {a=b}"),
        ('x{a="1",a="2"} 1 100', "m.om:1: the label a is there twice"),
        ('x{a="1"b="2"} 1 100', 'm.om:1: unreadable labels {a="1"b="2"}'),
        ("x 1 100\nx 1 100", "m.om:2: the times of a series must ascend"),
        ("x one 100", "m.om:1: one is not a number"),
        ("x 1_0 100", "m.om:1: 1_0 is not a number"),
        ("x 1e999 100", "m.om:1: 1e999 is not a number"),
        ("# nothing", "m.om:1: a comment must be"),
        ("# TYPE x odd", "m.om:1: the type odd is not one of"),
        ("x 1 100", "m.om:2: the last line must be # EOF"),
        ("# EOF\nx 1 100", "m.om:2: there is text after # EOF"),
    ],
)
def test_an_error_names_the_file_and_the_line(text: str, error: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(lines(text), "m.om", interval_ms=15_000)
    assert str(refused.value).startswith(error)


def test_what_is_written_is_read_back_the_same() -> None:
    metadata = {"h": MetricMetadata("histogram", "a\nb", ""), "c_total": MetricMetadata("counter", "", "")}
    series = (
        Series(
            labels_of({"__name__": "c_total", "a": 'x"\\\n'}), array("q", [-1500, 0, 15_001]), array("d", [0, 0.1, 3])
        ),
        Series(labels_of({"__name__": "h_bucket", "le": "+Inf"}), array("q", [1]), array("d", [1e21])),
        Series(labels_of({"__name__": "h_count"}), array("q", [15_001]), array("d", [-math.inf])),
    )

    written = "".join(write(series, metadata))
    again, described = read(lines(written.removesuffix("\n")), "m.om", interval_ms=10**9)

    assert again == series
    assert described == metadata
