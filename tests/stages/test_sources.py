import pytest

from inquest.domain.signals import FiringAlert, FiringAlerts, Other, Series, SignalContent
from inquest.stages.exhibits import Exhibits
from inquest.stages.sources import independent_sources
from tests.builders import Shelf, at, changes, deployment, logs, matrix

Place = tuple[SignalContent, dict[str, object], str]


def log(line: str = "x", **labels: str) -> Place:
    return logs((at(0), line), **labels), {"source": "loki", "expression": "{}"}, "/lines/0"


def metric(expression: str, name: str = "") -> Place:
    labels = {"__name__": name} if name else {}
    return matrix(Series(labels=labels, points=((0, 1.0),))), {"expression": expression}, "/series/0"


def change(number: int) -> Place:
    return changes(deployment(f"d-{number}", at(number))), {"source": "gitlab", "expression": ""}, "/changes/0"


def firing() -> Place:
    alert = FiringAlert(name="A", state="firing", labels={}, annotations={}, active_at=None)
    return FiringAlerts(alerts=(alert,)), {"signal": "alerts", "expression": ""}, "/alerts/0"


def pod() -> Place:
    return Other(value={"state": "Running"}), {"source": "kubernetes", "expression": ""}, "/value/state"


@pytest.mark.parametrize(
    ("rule", "places", "count"),
    [
        ("nothing", [], 0),
        ("two queries to one log stream are one", [log("a", service="checkout"), log("b", service="checkout")], 1),
        ("levels and pods are no other witness", [log(app="a", level="error"), log(app="a", level="info", pod="p")], 1),
        ("logs of two services are two", [log(service="checkout"), log(service="payments")], 2),
        ("one service name in two namespaces is two", [log(app="a", namespace="x"), log(app="a", namespace="y")], 2),
        ("logs without such labels are one", [log(level="error"), log(level="info")], 1),
        ("one metric asked twice is one", [metric("rate(a_total[5m])"), metric("sum(a_total)")], 1),
        ("two metrics are two", [metric("a_total"), metric("b_total")], 2),
        ("series of one histogram are one", [metric("lat_bucket"), metric("rate(lat_count[5m])")], 1),
        ("what shares a metric is one", [metric("a/b"), metric("a"), metric("b")], 1),
        ("the label names the metric", [metric('{job="x"}', "a"), metric('{job="x"}', "b")], 2),
        ("two changes of one source are one", [change(1), change(2)], 1),
        ("alerts say again what opened it", [firing(), metric("a_total")], 1),
        ("logs, metrics, changes and workloads are four", [log(), metric("a"), change(1), pod()], 4),
    ],
)
def test_independent_sources(rule: str, places: list[Place], count: int) -> None:
    shelf = Shelf()
    pointers = []
    for content, about, pointer in places:
        pointers.append((shelf.add(content, **about).name, pointer))
    exhibits = Exhibits(shelf.evidence, shelf.contents)
    cited = [exhibits.check(exhibits.cite(name, pointer)) for name, pointer in pointers]
    assert independent_sources(cited) == count, rule
