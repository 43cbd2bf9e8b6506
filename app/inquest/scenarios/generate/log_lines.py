"""What the pods would have logged: the noise of every day, and the lines of the incident."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inquest.scenarios.generate.fleet import NAMESPACE, REPLICAS, Pod
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.release import NEW_POOL_SIZE, NEW_WORKERS, VERSIONS
from inquest.scenarios.generate.timeline import SECOND, Timeline
from inquest.scenarios.generate.traffic import Traffic
from inquest.scenarios.loki.lines import Stream
from inquest.scenarios.promql.samples import labels_of

# The shop samples its logs.
_LINES_PER_REQUEST = {"frontend": 0.0008, "checkout": 0.003, "payments": 0.003, "search": 0.0008}
_LINES_PER_FAILURE = 0.05


@dataclass(frozen=True, slots=True)
class _Template:
    """A kind of line: how often in comparison with its siblings, and how it is filled in."""

    weight: int
    fill: Callable[[random.Random], str]


def _order(chance: random.Random) -> str:
    return f"o-{chance.randrange(10**7, 10**8)}"


def _trace(chance: random.Random) -> str:
    return f"{chance.getrandbits(64):016x}"


_EVERY_DAY: dict[str, tuple[_Template, ...]] = {
    "frontend": (
        _Template(60, lambda c: f'level=info msg="GET /products/{c.randrange(9000)}" status=200 duration_ms={c.randrange(20, 180)}'),
        _Template(25, lambda c: f'level=info msg="POST /api/cart" status=200 duration_ms={c.randrange(20, 90)}'),
        _Template(2, lambda c: f'level=warn msg="slow render" page=/search duration_ms={c.randrange(900, 2400)}'),
        _Template(1, lambda c: f'level=error msg="upstream search returned 500" path=/api/search trace_id={_trace(c)}'),
    ),
    "checkout": (
        _Template(50, lambda c: f'level=info msg="order placed" order_id={_order(c)} items={c.randrange(1, 9)} duration_ms={c.randrange(40, 210)}'),
        _Template(40, lambda c: f'level=info msg="payment authorised" order_id={_order(c)} duration_ms={c.randrange(80, 400)}'),
        _Template(6, lambda c: f'level=warn msg="card declined by issuer" order_id={_order(c)} code={c.choice(["51", "05", "54"])}'),
        _Template(1, lambda c: f'level=error msg="request to inventory failed, retrying" attempt=1 error="connection reset by peer" trace_id={_trace(c)}'),
    ),
    "payments": (
        _Template(80, lambda c: f'level=info msg="authorisation approved" amount_cents={c.randrange(500, 90000)} duration_ms={c.randrange(60, 320)}'),
        _Template(8, lambda c: f'level=info msg="authorisation declined" code={c.choice(["51", "05", "54"])}'),
        _Template(2, lambda c: f'level=warn msg="slow response from acquirer" duration_ms={c.randrange(1200, 2900)}'),
    ),
    "search": (
        _Template(50, lambda c: f'level=info msg="query answered" hits={c.randrange(400)} duration_ms={c.randrange(5, 60)}'),
        _Template(1, lambda c: f'level=warn msg="query took long" duration_ms={c.randrange(500, 900)}'),
    ),
}  # fmt: skip
_FAILURES: dict[str, tuple[_Template, ...]] = {
    "checkout": (
        _Template(5, lambda c: f'level=error msg="timeout acquiring connection from pool after 5000 ms (in use {NEW_POOL_SIZE}/{NEW_POOL_SIZE})" trace_id={_trace(c)}'),
        _Template(3, lambda c: f'level=error msg="order failed" order_id={_order(c)} status=503 error="no database connection"'),
    ),
    "frontend": (_Template(1, lambda c: f'level=error msg="upstream checkout returned 503" path=/api/checkout trace_id={_trace(c)}'),),
}  # fmt: skip


def record_logs(pods: list[Pod], load: Traffic, *, seed: int, times: Timeline) -> Iterator[Stream]:
    """Give one stream for each pod."""
    for pod in pods:
        chance = noise(seed, f"logs/{pod.name}")
        entries = sorted([*_started(pod, chance), *_noise(pod, load, chance), *_incident(pod, load, chance)])
        if pod.service == "search":
            entries = sorted([*entries, *_reindex(pod, times)])
        labels = {"namespace": NAMESPACE, "service": pod.service, "pod": pod.name, "container": pod.service}
        yield Stream(labels_of(labels), array("q", (at for at, _ in entries)), tuple(line for _, line in entries))


def _ns(at_ms: float, chance: random.Random) -> int:
    return int(at_ms) * 1_000_000 + chance.randrange(1_000_000)


def _started(pod: Pod, chance: random.Random) -> Iterator[tuple[int, str]]:
    versions = VERSIONS.get(pod.service)
    if versions is None or not pod.is_new:
        return
    settings = f" workers={NEW_WORKERS} db_pool_size={NEW_POOL_SIZE}" if pod.service == "checkout" else ""
    yield _ns(pod.starts, chance), f'level=info msg="{pod.service} starting" version={versions[1]}{settings}'
    yield _ns(pod.starts + 4 * SECOND, chance), 'level=info msg="ready to serve" port=8080'


def _noise(pod: Pod, load: Traffic, chance: random.Random) -> Iterator[tuple[int, str]]:
    templates = _EVERY_DAY[pod.service]
    weights = [one.weight for one in templates]
    at = float(pod.starts + 5 * SECOND)
    while True:
        at += chance.expovariate(load.of(pod.service, int(at)) / REPLICAS * _LINES_PER_REQUEST[pod.service]) * SECOND
        if at >= pod.ends:
            return
        yield _ns(at, chance), chance.choices(templates, weights)[0].fill(chance)


def _incident(pod: Pod, load: Traffic, chance: random.Random) -> Iterator[tuple[int, str]]:
    templates = _FAILURES.get(pod.service)
    if templates is None:
        return
    weights = [one.weight for one in templates]
    at = float(max(pod.starts, load.times.onset))
    while True:
        failures = load.of(pod.service, int(at)) / REPLICAS * load.failing(pod.service, int(at))
        at += chance.expovariate(max(failures * _LINES_PER_FAILURE, 0.02)) * SECOND
        if at >= pod.ends:
            return
        if load.failing(pod.service, int(at)) > 0:
            yield _ns(at, chance), chance.choices(templates, weights)[0].fill(chance)


def _reindex(pod: Pod, times: Timeline) -> Iterator[tuple[int, str]]:
    yield times.reindex_from * 1_000_000, f'level=info msg="rebuilding index" trigger=nightly-catalogue pod={pod.name}'
    yield times.reindex_until * 1_000_000, 'level=info msg="index rebuilt" documents=184220'
