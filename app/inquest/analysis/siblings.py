"""The other metrics of a service: what each one measures by its name, and how to ask for its course.

Names follow Prometheus's naming conventions (prometheus.io/docs/practices/naming): `_total` counts,
`_bucket` is a histogram, the rest is taken for a gauge.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from inquest.domain.selector import quote, selector

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from inquest.domain.value import Labels

RATE_SCRAPES = 4
"""A rate is taken over so many scrapes: enough that one may be missing, short enough to keep an onset where it is."""
MIN_RATE_WINDOW_MS = 120_000
"""... and over no less: many services are scraped less often than their Prometheus usually scrapes."""
_MINUTE_MS = 60_000
_RANGE = re.compile(r"\[(\d+)m\]")
MAX_SIBLINGS = 12
STATUS_LABELS = ("status", "code", "status_code", "http_status")
SERVER_ERRORS = "5.."


class Role(StrEnum):
    """What a metric tells, in the order in which it is asked for."""

    SATURATION = "saturation"
    LIMIT = "limit"
    LARGEST_LIMIT = "largest_limit"
    ERRORS = "errors"
    TRAFFIC = "traffic"
    LATENCY = "latency"
    RESTARTS = "restarts"
    OTHER = "other"


LIMITS = frozenset({Role.LIMIT, Role.LARGEST_LIMIT})


class Sibling(NamedTuple):
    """One more thing to ask: `expression` gives one series for the whole service."""

    metric: str
    role: Role
    expression: str


_WORDS: tuple[tuple[Role, frozenset[str]], ...] = (
    (Role.LIMIT, frozenset({"max", "limit", "limits", "capacity", "quota", "maximum"})),
    (Role.RESTARTS, frozenset({"restarts", "restart", "oom"})),
    (Role.ERRORS, frozenset({"error", "errors", "failed", "failures", "failure", "exceptions", "panics", "rejected",
                             "dropped", "timeouts"})),
    (Role.SATURATION, frozenset({"pool", "connections", "conns", "queue", "queued", "pending", "backlog", "threads",
                                 "goroutines", "workers", "memory", "heap", "cpu", "disk", "fds", "inflight", "waiting",
                                 "wait", "lag", "utilization", "utilisation", "saturation", "usage", "used", "throttled",
                                 "active", "busy"})),
    (Role.LATENCY, frozenset({"duration", "latency", "seconds_bucket"})),
    (Role.TRAFFIC, frozenset({"requests", "calls", "messages", "jobs", "queries", "operations", "transactions", "handled", "served",
                             "processed"})),
)  # fmt: skip
NOT_IN_USE = frozenset({"pending", "waiting", "waiters", "wait", "queued", "idle", "free", "available"})
"""Of a resource: what waits for it or lies idle. It grows beyond the limit, or falls as the use rises."""
_OBSERVED_MAXIMUM = re.compile(r"_(?:seconds|milliseconds|duration|latency)_max$")
"""The longest that was measured (Micrometer's gauges): no limit of anything."""
_SKIPPED = re.compile(r"^(ALERTS|ALERTS_FOR_STATE|up|scrape_.*|.*_(created|info|sum))$|:")
"""Prometheus's own series, metadata, and recorded results of other expressions."""


def rate_window(scrape_ms: int) -> str:
    """Give the range over which rates are taken where samples are `scrape_ms` apart, in whole minutes: "2m"."""
    return f"{-(-max(RATE_SCRAPES * scrape_ms, MIN_RATE_WINDOW_MS) // _MINUTE_MS)}m"


def rate_window_ms(expression: str) -> int:
    """Give the range over which a rate of ours is taken, 0 where `expression` has none.

    So long the rate of a series that has just begun climbs from nothing, whatever it counts.
    """
    found = _RANGE.search(expression)
    return 0 if found is None else int(found[1]) * _MINUTE_MS


def without_range(expression: str) -> str:
    """Give what an expression of ours asks, over whatever range its rates are taken."""
    return _RANGE.sub("[]", expression)


def role_of(metric: str) -> Role:
    """Say what `metric` tells, by the words of its name. What is counted is no limit, however often one was met."""
    words = set(metric.lower().split("_"))
    if _OBSERVED_MAXIMUM.search(metric):
        return Role.LATENCY
    if metric.endswith("_bucket"):
        return Role.LATENCY if words & {"duration", "latency", "seconds", "milliseconds", "time"} else Role.OTHER
    fitting = (role for role, known in _WORDS if words & known)
    return next((role for role in fitting if role is not Role.LIMIT or not _is_counter(metric)), Role.OTHER)


def _is_counter(metric: str) -> bool:
    return metric.endswith(("_total", "_count"))


def siblings(series: Iterable[Labels], matchers: Labels, *, scrape_ms: int = 30_000) -> tuple[Sibling, ...]:
    """List what to ask about a service, given the label sets that exist for it.

    `scrape_ms`: how far apart their samples are. `matchers` select the service; every expression is aggregated over its
    pods. The most telling come first, at most MAX_SIBLINGS: a limit only where something of its kind is used, and the
    largest beside the smallest where there are several, for pods may have unequal ones.
    """
    labels_of: dict[str, set[str]] = {}
    count_of: Counter[str] = Counter()
    for labels in series:
        labels_of.setdefault(labels.get("__name__", ""), set()).update(labels)
        count_of[labels.get("__name__", "")] += 1
    found = [
        sibling
        for metric in sorted(labels_of)
        if metric and not _SKIPPED.search(metric) and not _is_counted_twice(metric, labels_of)
        for sibling in (
            *_ask(metric, labels_of[metric], matchers, rate_window(scrape_ms)),
            *(_largest_limit(metric, matchers) if count_of[metric] > 1 else ()),
        )
    ]
    used = [one.metric for one in found if one.role is Role.SATURATION]
    wanted = [one for one in found if one.role not in LIMITS or limited_by(one.metric, used)]
    order = list(Role)
    return tuple(sorted(wanted, key=lambda one: (order.index(one.role), one.metric)))[:MAX_SIBLINGS]


def _is_counted_twice(metric: str, known: Container[str]) -> bool:
    """Say whether `metric` is the count of a histogram, which its buckets hold too: no latency by itself."""
    return metric.endswith("_count") and f"{metric.removesuffix('_count')}_bucket" in known


def _ask(metric: str, labels: set[str], matchers: Labels, over: str) -> Sequence[Sibling]:
    where, role = selector(matchers), role_of(metric)
    if metric.endswith("_bucket"):
        rate = f"sum by (le) (rate({metric}{where}[{over}]))"
        return [Sibling(metric, role, f"histogram_quantile(0.99, {rate})")]
    if not _is_counter(metric):
        return [Sibling(metric, role, f"{'min' if role is Role.LIMIT else 'max'}({metric}{where})")]
    whole = Sibling(metric, role, f"sum(rate({metric}{where}[{over}]))")
    status = next((name for name in STATUS_LABELS if name in labels), None)
    if status is None:
        return [whole]
    failed = f"{where[:-1]}{', ' if matchers else ''}{status}=~{quote(SERVER_ERRORS)}}}"
    return [
        whole._replace(role=Role.TRAFFIC),
        Sibling(metric, Role.ERRORS, f"sum(rate({metric}{failed}[{over}]))"),
    ]


def _largest_limit(metric: str, matchers: Labels) -> Sequence[Sibling]:
    if role_of(metric) is not Role.LIMIT:
        return ()
    return (Sibling(metric, Role.LARGEST_LIMIT, f"max({metric}{selector(matchers)})"),)


def limited_by(limit: str, used: Iterable[str]) -> tuple[str, ...]:
    """Give the metrics of `used` that `limit` may bound, sorted: those that share the longest beginning with it.

    At least two words must be shared: db_pool_connections_max bounds db_pool_connections_in_use. What only
    waits for the resource, or lies idle, is not bounded by it.
    """
    shared = {metric: _common_words(metric, limit) for metric in used}
    shared = {metric: count for metric, count in shared.items() if not set(metric.split("_")[count:]) & NOT_IN_USE}
    longest = max(shared.values(), default=0)
    if longest < 2:  # noqa: PLR2004  # two words
        return ()
    return tuple(sorted(metric for metric, count in shared.items() if count == longest))


def _common_words(first: str, second: str) -> int:
    count = 0
    for one, other in zip(first.split("_"), second.split("_"), strict=False):
        if one != other:
            break
        count += 1
    return count
