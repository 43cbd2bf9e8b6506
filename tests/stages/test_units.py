import pytest

from inquest.stages.exhibits import Exhibits
from inquest.stages.units import canonical_unit, carried_units, carries
from tests.builders import Shelf, matrix, series


def carried(expression: str, labels: dict[str, str] | None = None) -> frozenset[str]:
    shelf = Shelf()
    content = matrix(series([1.0]))
    named = content.series[0].but(labels=labels or {})
    shelf.add(content.but(series=(named,)), expression=expression)
    exhibits = Exhibits(shelf.evidence, shelf.contents)
    one = exhibits.check(exhibits.cite("E1", "/series/0/points/0"))
    return carried_units(one.item, one.place)


@pytest.mark.parametrize(
    ("expression", "units"),
    [
        ("process_resident_memory_bytes", {"bytes"}),
        ("cache_hit_ratio", {"ratio"}),
        ("up", set()),
        ("rate(http_requests_total[5m])", {"per second"}),
        ("irate(node_network_receive_bytes_total[1m])", {"bytes", "per second"}),
        ("http_request_duration_seconds_count", set()),
        ("http_request_duration_seconds_bucket", set()),
        ("http_request_duration_seconds_sum", {"seconds"}),
        ("histogram_quantile(0.9, sum(rate(lat_seconds_bucket[5m])) by (le))", {"seconds", "per second"}),
        ('x{unit="seconds"}', set()),
        ("sum_over_time(x[30s])", set()),
    ],
)
def test_a_unit_comes_from_the_name_of_what_is_measured(expression: str, units: set[str]) -> None:
    assert carried(expression) == units


def test_a_unit_label_says_it_too() -> None:
    assert carried("cpu", {"unit": "percent"}) == {"percent"}
    assert carried("cpu", {"unit": "furlongs"}) == {"furlongs"}


def test_the_series_own_name_counts_before_the_expression() -> None:
    assert carried("lat_seconds or size_bytes", {"__name__": "size_bytes"}) == {"bytes"}


@pytest.mark.parametrize(
    ("text", "unit"), [("ms", "milliseconds"), ("%", "percent"), ("Req/s", "per second"), ("x", None)]
)
def test_units_are_written_in_known_ways(text: str, unit: str | None) -> None:
    assert canonical_unit(text) == unit


def test_nothing_is_converted() -> None:
    assert carries(frozenset({"seconds"}), "s")
    assert not carries(frozenset({"seconds"}), "ms")
    assert carries(frozenset({"furlongs"}), "Furlongs")
