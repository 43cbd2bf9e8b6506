import promql_parser
import pytest

from inquest.domain.value import Labels
from inquest.wire import logql, promql
from inquest.wire.matching import Bounds, is_stray

WEB = {"__name__": "up", "service": "web", "pod": "web-1"}
API = {"__name__": "up", "service": "api", "pod": "api-1"}


def bounds(expression: str) -> Bounds:
    found = promql.scope(expression, {}).bounds
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("expression", "labels"),
    [
        ('up{service="web"}', WEB),
        ('up{service="web"}', {"service": "web"}),
        ('up{service=~"web|shop", pod!="web-2"}', WEB),
        ('up{service="web", replica="a"}', WEB),
        ('up{zone=""}', WEB),
        ('rate(up{service="web"}[5m]) * 2', WEB),
        ('last_over_time(up{service="web"}[5m])', WEB),
        ('topk(3, up{service="web"})', WEB),
        ('sum by (service) (up{service="web"})', {"service": "web"}),
        ('sum by (service) (up{service="web"})', {"__name__": "kept by some", "service": "web"}),
        ('sum without (service) (up{service="web"})', {"pod": "web-1"}),
        ('sum(up{service="web"})', {}),
        ('up{service="web"} or up{service="api"}', API),
        ('up{service="web"} and up{service="api"}', WEB),
        ('label_replace(up{service="web"}, "service", "x", "pod", ".*")', {"service": "x", "pod": "web-1"}),
        ('label_replace(sum(up{service="web"}), "by", "x", "", "")', {"by": "x"}),
        ('count_values("service", up{service="web"})', {"service": "1"}),
        ('up{service="web"} * on (pod) group_left (owner) kube_pod', {**WEB, "owner": "anybody"}),
        ('kube_pod * on (pod) group_right (service) up{service="web"}', {"service": "whatever", "pod": "p"}),
        ('up{service="web"} / on (pod) up', {"pod": "web-1"}),
        ('up{service="web"} / ignoring (service) up', {"pod": "web-1"}),
        (
            'histogram_quantile(0.9, sum by (le, service) (rate(b_bucket{service="web", le="1"}[5m])))',
            {"service": "web"},
        ),
        ("vector(1)", {}),
        ("time() > bool 3", {}),
        ('1 + up{service="web"}', WEB),
    ],
)
def test_a_series_that_the_expression_gives_is_none_of_the_strays(expression: str, labels: Labels) -> None:
    assert not is_stray(labels, bounds(expression))


@pytest.mark.parametrize(
    ("expression", "labels"),
    [
        ('up{service="web"}', API),
        ('up{service="web"}', {"__name__": "up"}),
        ("up", {"__name__": "down"}),
        ('up{service!="api"}', API),
        ('up{service!~"a.*"}', API),
        ('up{service=~"web|ap"}', API),
        ('up{zone=""}', {**WEB, "zone": "a"}),
        ('up{service="web", replica="a"}', {**WEB, "replica": "b"}),
        ('-rate(up{service="web"}[5m]) * 2 > 0', API),
        ('topk(3, up{service="web"})', API),
        ('sum by (service) (up{service="web"})', {"service": "api"}),
        ('sum by (service) (up{service="web"})', WEB),
        ('sum(up{service="web"})', {"service": "web"}),
        ('sum without (pod) (up{service="web"})', {"service": "api"}),
        ('up{service="web"} or up{service="shop"}', API),
        ('up{service="web"} unless up{service="api"}', API),
        ('label_replace(up{service="web"}, "owner", "x", "pod", ".*")', API),
        ('up{service="web"} * on (pod) group_left (owner) kube_pod', API),
        ('kube_pod * on (pod) group_right (owner) up{service="web"}', API),
        ('up{service="web"} / up', API),
        ('up{service="web"} > bool 3', API),
        ('max_over_time(sum by (service) (up{service="web"})[1h:5m])', {"service": "api"}),
        ("vector(1)", {"service": "web"}),
    ],
)
def test_a_series_that_no_selector_asked_for_is_a_stray(expression: str, labels: Labels) -> None:
    assert is_stray(labels, bounds(expression))


@pytest.mark.parametrize("expression", ['absent(up{service="web"})', 'absent_over_time(up{service="web"}[5m]) or up'])
def test_labels_that_a_function_makes_are_told_to_be_undecidable(expression: str) -> None:
    assert promql.scope(expression, {}).bounds is None


def test_a_pattern_that_re2_does_not_read_leaves_it_undecidable() -> None:
    # Repeated more often than RE2 takes: the source decides whether it does.
    assert promql.scope('up{service=~"a{1001}"}', {}).bounds is None


def test_the_mandatory_matchers_are_held_too() -> None:
    found = promql.scope("up", {"tenant": "shop"}).bounds
    assert found is not None
    assert is_stray({"__name__": "up"}, found)
    assert not is_stray({"__name__": "up", "tenant": "shop"}, found)


@pytest.mark.parametrize(
    ("expression", "asked", "stray"),
    [
        ('{app="web"} |= "x" | json | status >= 500', {"app": "web", "status": "501"}, {"app": "api"}),
        ('{app=~"web|shop", env!="dev"}', {"app": "shop"}, {"app": "web", "env": "dev"}),
        ('rate({app="web"}[5m])', {"app": "web", "pod": "p"}, {"pod": "p"}),
        ('sum by (app) (rate({app="web"}[5m]))', {"app": "web"}, {"app": "web", "pod": "p"}),
        ('sum(rate({app="web"}[5m]))', {}, {"app": "web"}),
        ('sum without (app) (rate({app="web", env="live"}[5m]))', {"env": "live"}, {"env": "dev"}),
        ('topk(3, sum by (app) (rate({app="web"}[5m])))', {"app": "web"}, {"app": "api"}),
    ],
)
def test_streams_and_counts_of_lines_are_held_the_same_way(expression: str, asked: Labels, stray: Labels) -> None:
    found = logql.scope(expression, {}).bounds
    assert found is not None
    assert not is_stray(asked, found)
    assert is_stray(stray, found)


def test_every_function_of_the_parser_is_decided_or_told_not_to_be() -> None:
    assert isinstance(promql_parser.parse("sort_by_label(up, 'a')"), promql_parser.Call)
    for expression in ("hour()", "pi()", "sort_by_label(up, 'a')", "histogram_fraction(0, 1, up)", "timestamp(up)"):
        assert promql.scope(expression, {}).bounds is not None, expression
