"""What things are called in a variation: services, labels, metrics, people. No name depends on the story."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from inquest.scenarios.generate.noise import noise

T = TypeVar("T")


class Part(StrEnum):
    """A part in the play, by the name that it has in variation 0.

    The front end calls checkout; checkout calls payments and the database; search has nothing to do with it.
    """

    FRONTEND = "frontend"
    CHECKOUT = "checkout"
    PAYMENTS = "payments"
    SEARCH = "search"
    DATABASE = "database"


SERVICES = (Part.FRONTEND, Part.CHECKOUT, Part.PAYMENTS, Part.SEARCH)
"""The parts that have pods, logs and a project."""

_NAMES: dict[Part, tuple[str, ...]] = {
    Part.FRONTEND: ("frontend", "storefront", "portal", "webshop", "bff", "edge-web"),
    Part.CHECKOUT: ("checkout", "purchase", "booking", "basket", "order-intake", "reservations"),
    Part.PAYMENTS: ("payments", "billing", "settlement", "card-gateway", "fraud-check", "invoicing"),
    Part.SEARCH: ("search", "catalogue", "suggestions", "browse", "recommender"),
    Part.DATABASE: ("orders-db", "sales-db", "orders-pg", "core-postgres", "ledger-db"),
}
_NAMESPACES = ("shop", "store", "retail", "market", "prod-shop", "tickets")
_GROUPS = ("shop", "commerce", "platform", "web-team", "retail-apps")
_REGIONS = ("eu-1", "eu-west-2", "us-3", "ap-1", "nordic-2")
_SERVICE_LABELS = ("service", "app", "application")
_STATUS_LABELS = ("status", "code", "status_code")
_GIVEN = ("Ines", "Tomas", "Amara", "Noor", "Jonas", "Mei", "Pavel", "Lucia", "Kofi", "Hanne", "Ravi", "Elena")
_FAMILY = (
    "Duarte",
    "Brandt",
    "Osei",
    "Haddad",
    "Lind",
    "Tanaka",
    "Novak",
    "Ferrari",
    "Mensah",
    "Berg",
    "Iyer",
    "Costa",
)
_STAFF = 3


@dataclass(frozen=True, slots=True)
class HttpMetrics:
    """The counter of answered requests, and the histogram of how long they took."""

    requests: str
    duration: str


@dataclass(frozen=True, slots=True)
class PoolMetrics:
    """Gauges of a connection pool: handed out, idle, open at all, at most; requests that wait, their wait in seconds."""

    in_use: str
    idle: str
    opened: str
    largest: str
    pending: str
    wait: str


_HTTP = (
    HttpMetrics("http_requests_total", "http_request_duration_seconds"),
    HttpMetrics("http_server_requests_total", "http_server_request_duration_seconds"),
    HttpMetrics("requests_handled_total", "request_latency_seconds"),
)
_POOL = (
    PoolMetrics(
        in_use="db_pool_connections_in_use",
        idle="db_pool_connections_idle",
        opened="db_pool_connections_open",
        largest="db_pool_connections_max",
        pending="db_pool_pending_requests",
        wait="db_pool_wait_seconds",
    ),
    PoolMetrics(
        in_use="hikaricp_connections_active",
        idle="hikaricp_connections_idle",
        opened="hikaricp_connections",
        largest="hikaricp_connections_max",
        pending="hikaricp_connections_pending",
        wait="hikaricp_connections_acquire_seconds_max",
    ),
    PoolMetrics(
        in_use="sql_client_connections_used",
        idle="sql_client_connections_free",
        opened="sql_client_connections_established",
        largest="sql_client_connections_limit",
        pending="sql_client_connections_pending",
        wait="sql_client_connections_wait_seconds",
    ),
)
_QUERY = ("pg_query_duration_seconds", "db_statement_duration_seconds", "sql_exec_latency_seconds")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the shop's staff. `number` is the id at GitLab."""

    username: str
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Shop:
    """The names of one variation. `query_duration` is the histogram of the database's statements."""

    names: dict[Part, str]
    namespace: str
    cluster: str
    group: str
    service_label: str
    status_label: str
    http: HttpMetrics
    pool: PoolMetrics
    query_duration: str
    staff: tuple[Person, ...]

    @property
    def domain(self) -> str:
        """Give the shop's domain; nothing answers there."""
        return f"{self.group}.example"

    def scope(self, part: Part) -> dict[str, str]:
        """Give the labels that select `part` in metrics and logs."""
        return {"namespace": self.namespace, self.service_label: self.names[part]}

    def workload(self, part: Part) -> str:
        """Name `part` as kind/namespace/name."""
        kind = "statefulset" if part is Part.DATABASE else "deployment"
        return f"{kind}/{self.namespace}/{self.names[part]}"

    def project(self, part: Part) -> str:
        """Give the path of the project of `part` at GitLab."""
        return f"{self.group}/{self.names[part]}"


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws from lists by chance; in variation 0, which the pages describe, always the first."""

    chance: random.Random
    is_plain: bool

    def one(self, options: Sequence[T]) -> T:
        """Draw one."""
        drawn = self.chance.choice(options)
        return options[0] if self.is_plain else drawn

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """Draw `count` different ones."""
        drawn = self.chance.sample(options, count)
        return list(options[:count]) if self.is_plain else drawn


def draw(seed: int, part: str) -> Draw:
    """Give the draws of `part` of variation `seed`."""
    return Draw(noise(seed, part), is_plain=seed == 0)


def shop(seed: int) -> Shop:
    """Name everything of variation `seed`."""
    drawn = draw(seed, "names")
    namespace = drawn.one(_NAMESPACES)
    return Shop(
        names={part: drawn.one(names) for part, names in _NAMES.items()},
        namespace=namespace,
        cluster=f"{namespace}-{drawn.one(_REGIONS)}",
        group=drawn.one(_GROUPS),
        service_label=drawn.one(_SERVICE_LABELS),
        status_label=drawn.one(_STATUS_LABELS),
        http=drawn.one(_HTTP),
        pool=drawn.one(_POOL),
        query_duration=drawn.one(_QUERY),
        staff=_staff(drawn),
    )


def _staff(drawn: Draw) -> tuple[Person, ...]:
    given, family = drawn.some(_GIVEN, _STAFF), drawn.some(_FAMILY, _STAFF)
    numbers = drawn.chance.sample(range(40, 900), _STAFF)
    return tuple(
        Person(first.lower(), f"{first} {last}", number)
        for first, last, number in zip(given, family, numbers, strict=True)
    )
