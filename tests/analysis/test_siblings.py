"""Which metrics of a service are asked, and how."""

from __future__ import annotations

import promql_parser
import pytest

from inquest.analysis.siblings import MAX_SIBLINGS, Role, limited_by, rate_window_ms, role_of, siblings

CHECKOUT = {"namespace": "shop", "service": "checkout"}


def series(metric: str, **labels: str) -> dict[str, str]:
    return {"__name__": metric, **CHECKOUT, **labels}


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("db_pool_connections_in_use", Role.SATURATION),
        ("db_pool_connections_max", Role.LIMIT),
        ("process_resident_memory_bytes", Role.SATURATION),
        ("http_requests_total", Role.TRAFFIC),
        ("http_request_duration_seconds_bucket", Role.LATENCY),
        ("response_size_bytes_bucket", Role.OTHER),
        ("payment_errors_total", Role.ERRORS),
        ("kube_pod_container_status_restarts_total", Role.RESTARTS),
        ("kafka_consumer_lag", Role.SATURATION),
        ("hikaricp_connections_acquire_seconds_max", Role.LATENCY),
        ("grpc_server_handled_total", Role.TRAFFIC),
        ("rate_limit_hits_total", Role.OTHER),
        ("build_number", Role.OTHER),
    ],
)
def test_a_metric_tells_by_the_words_of_its_name(metric: str, role: Role) -> None:
    assert role_of(metric) is role


@pytest.mark.parametrize(("scrape_s", "over"), [(1, "2m"), (30, "2m"), (31, "3m"), (60, "4m"), (120, "8m")])
def test_a_rate_is_taken_over_four_scrapes_of_a_slow_source(scrape_s: int, over: str) -> None:
    (found,) = siblings([series("jobs_total")], CHECKOUT, scrape_ms=scrape_s * 1_000)

    assert f"[{over}]" in found.expression
    assert rate_window_ms(found.expression) == int(over[:-1]) * 60_000


def test_every_expression_is_promql_about_the_service_alone() -> None:
    found = siblings(
        [
            series("http_requests_total", status="200"),
            series("http_request_duration_seconds_bucket", le="1"),
            series("db_pool_connections_in_use"),
            series("db_pool_connections_max"),
        ],
        CHECKOUT,
    )

    where = '{namespace="shop", service="checkout"}'
    assert [(one.role, one.expression) for one in found] == [
        (Role.SATURATION, f"max(db_pool_connections_in_use{where})"),
        (Role.LIMIT, f"min(db_pool_connections_max{where})"),
        (Role.ERRORS, 'sum(rate(http_requests_total{namespace="shop", service="checkout", status=~"5.."}[2m]))'),
        (Role.TRAFFIC, f"sum(rate(http_requests_total{where}[2m]))"),
        (
            Role.LATENCY,
            f"histogram_quantile(0.99, sum by (le) (rate(http_request_duration_seconds_bucket{where}[2m])))",
        ),
    ]
    for one in found:
        promql_parser.parse(one.expression)


def test_where_pods_may_have_unequal_limits_the_largest_is_asked_too() -> None:
    pods = [
        series(metric, pod=pod) for metric in ("db_pool_connections_in_use", "db_pool_connections_max") for pod in "ab"
    ]

    found = siblings(pods, CHECKOUT)

    where = '{namespace="shop", service="checkout"}'
    assert [(one.role, one.expression) for one in found] == [
        (Role.SATURATION, f"max(db_pool_connections_in_use{where})"),
        (Role.LIMIT, f"min(db_pool_connections_max{where})"),
        (Role.LARGEST_LIMIT, f"max(db_pool_connections_max{where})"),
    ]


def test_a_limit_is_asked_only_where_something_of_its_kind_is_used() -> None:
    assert siblings([series("http_max_header_bytes"), series("queue_limit")], CHECKOUT) == ()


def test_prometheus_own_series_and_recorded_results_are_no_siblings() -> None:
    names = ["up", "ALERTS", "scrape_duration_seconds", "job:errors:ratio", "app_info", "latency_sum", ""]

    assert siblings([series(name) for name in names], CHECKOUT) == ()


def test_the_most_telling_come_first_and_the_number_is_bounded() -> None:
    found = siblings([series(f"thing_{i}") for i in range(50)] + [series("worker_threads")], CHECKOUT)

    assert len(found) == MAX_SIBLINGS
    assert found[0].metric == "worker_threads"


def test_a_histogram_is_asked_by_its_buckets_and_not_once_more_by_its_count() -> None:
    found = siblings([series("latency_seconds_bucket", le="1"), series("latency_seconds_count")], CHECKOUT)

    assert [one.metric for one in found] == ["latency_seconds_bucket"]
    assert [one.metric for one in siblings([series("latency_seconds_count")], CHECKOUT)] == ["latency_seconds_count"]


@pytest.mark.parametrize(
    ("limit", "used", "bounded"),
    [
        (
            "db_pool_connections_max",
            ["db_pool_connections_in_use", "db_pool_wait_seconds"],
            ("db_pool_connections_in_use",),
        ),
        ("max_open_files", ["process_open_fds"], ()),
        (
            "hikaricp_connections_max",
            ["hikaricp_connections_pending", "hikaricp_connections_active", "hikaricp_connections"],
            ("hikaricp_connections", "hikaricp_connections_active"),
        ),
        ("pool_limit", ["pool_waiting", "pool_free"], ()),
        ("jobs_queued_max", ["jobs_queued"], ("jobs_queued",)),
        ("memory_limit", [], ()),
    ],
)
def test_a_limit_bounds_what_shares_its_beginning(limit: str, used: list[str], bounded: tuple[str, ...]) -> None:
    assert limited_by(limit, used) == bounded
