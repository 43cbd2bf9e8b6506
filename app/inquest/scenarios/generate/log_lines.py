"""What the pods would have logged: the noise of every day, and the lines of the incident."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inquest.scenarios.generate.fleet import Pod
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.play import Play
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Story
from inquest.scenarios.generate.timeline import SECOND
from inquest.scenarios.loki.lines import Stream
from inquest.scenarios.promql.samples import labels_of

# The shop samples its logs.
_LINES_PER_REQUEST = {Part.FRONTEND: 0.0008, Part.CHECKOUT: 0.003, Part.PAYMENTS: 0.003, Part.SEARCH: 0.0008}
_LINES_PER_FAILURE = 0.05
_READY_MS = 4 * SECOND


@dataclass(frozen=True, slots=True)
class _Template:
    """A kind of line: how often in comparison with its siblings, and how it is filled in."""

    weight: int
    fill: Callable[[random.Random], str]


def _order(chance: random.Random) -> str:
    return f"o-{chance.randrange(10**7, 10**8)}"


def _trace(chance: random.Random) -> str:
    return f"{chance.getrandbits(64):016x}"


def _every_day(play: Play) -> dict[Part, tuple[_Template, ...]]:
    search = play.shop.names[Part.SEARCH]
    return {
        Part.FRONTEND: (
            _Template(60, lambda c: f'level=info msg="GET /products/{c.randrange(9000)}" status=200 duration_ms={c.randrange(20, 180)}'),
            _Template(25, lambda c: f'level=info msg="POST /api/cart" status=200 duration_ms={c.randrange(20, 90)}'),
            _Template(2, lambda c: f'level=warn msg="slow render" page=/search duration_ms={c.randrange(900, 2400)}'),
            _Template(1, lambda c: f'level=error msg="upstream {search} returned 500" path=/api/search trace_id={_trace(c)}'),
        ),
        Part.CHECKOUT: (
            _Template(50, lambda c: f'level=info msg="order placed" order_id={_order(c)} items={c.randrange(1, 9)} duration_ms={c.randrange(40, 210)}'),
            _Template(40, lambda c: f'level=info msg="payment authorised" order_id={_order(c)} duration_ms={c.randrange(80, 400)}'),
            _Template(6, lambda c: f'level=warn msg="card declined by issuer" order_id={_order(c)} code={c.choice(["51", "05", "54"])}'),
            _Template(1, lambda c: f'level=error msg="request to inventory failed, retrying" attempt=1 error="connection reset by peer" trace_id={_trace(c)}'),
        ),
        Part.PAYMENTS: (
            _Template(80, lambda c: f'level=info msg="authorisation approved" amount_cents={c.randrange(500, 90000)} duration_ms={c.randrange(60, 320)}'),
            _Template(8, lambda c: f'level=info msg="authorisation declined" code={c.choice(["51", "05", "54"])}'),
            _Template(2, lambda c: f'level=warn msg="slow response from acquirer" duration_ms={c.randrange(1200, 2900)}'),
        ),
        Part.SEARCH: (
            _Template(50, lambda c: f'level=info msg="query answered" hits={c.randrange(400)} duration_ms={c.randrange(5, 60)}'),
            _Template(1, lambda c: f'level=warn msg="query took long" duration_ms={c.randrange(500, 900)}'),
        ),
    }  # fmt: skip


def _failures(play: Play, pod: Pod) -> tuple[_Template, ...]:
    """Give what fails aloud. What only the log would tell, no recording of it does."""
    if play.story is Story.UNSEEN:
        return ()
    checkout, much = play.shop.names[Part.CHECKOUT], play.much
    size, timeout_ms = much.size(is_new=pod.is_new), much.acquire_timeout_s * 1000
    return {
        Part.CHECKOUT: (
            _Template(5, lambda c: f'level=error msg="timeout acquiring connection from pool after {timeout_ms} ms (in use {size}/{size})" trace_id={_trace(c)}'),
            _Template(3, lambda c: f'level=error msg="order failed" order_id={_order(c)} status={much.fails_as} error="no database connection"'),
        ),
        Part.FRONTEND: (_Template(1, lambda c: f'level=error msg="upstream {checkout} returned {much.fails_as}" path=/api/{checkout} trace_id={_trace(c)}'),),
    }.get(pod.part, ())  # fmt: skip


def record_logs(pods: list[Pod], play: Play) -> Iterator[Stream]:
    """Give one stream for each pod that logs; nothing after the logs end."""
    for pod in pods:
        chance = noise(play.seed, f"logs/{pod.name}")
        entries = sorted([*_started(pod, play, chance), *_noise(pod, play, chance), *_incident(pod, play, chance)])
        if pod.part is Part.SEARCH:
            entries = sorted([*entries, *_reindex(pod, play)])
        kept = [entry for entry in entries if entry[0] < play.times.logs_end * 1_000_000]
        if kept:
            name = play.shop.names[pod.part]
            labels = {**play.shop.scope(pod.part), "pod": pod.name, "container": name}
            yield Stream(labels_of(labels), array("q", (at for at, _ in kept)), tuple(line for _, line in kept))


def _ns(at_ms: float, chance: random.Random) -> int:
    return int(at_ms) * 1_000_000 + chance.randrange(1_000_000)


def _started(pod: Pod, play: Play, chance: random.Random) -> Iterator[tuple[int, str]]:
    if not pod.is_new:
        return
    much = play.much
    settings = {
        Part.CHECKOUT: f"workers={much.workers.after} db_pool_size={much.pool_size.after}",
        Part.PAYMENTS: f"acquirer_max_in_flight={much.in_flight.after}",
    }[pod.part]
    yield _ns(pod.starts, chance), f'level=info msg="{play.shop.names[pod.part]} starting" {settings}'
    yield _ns(pod.starts + _READY_MS, chance), 'level=info msg="ready to serve" port=8080'


def _noise(pod: Pod, play: Play, chance: random.Random) -> Iterator[tuple[int, str]]:
    templates = _every_day(play)[pod.part]
    weights = [one.weight for one in templates]
    at = float(pod.starts + _READY_MS + SECOND)
    while True:
        lines = play.load.of(pod.part, int(at)) / play.much.replicas * _LINES_PER_REQUEST[pod.part]
        at += chance.expovariate(lines) * SECOND
        if at >= pod.ends:
            return
        yield _ns(at, chance), chance.choices(templates, weights)[0].fill(chance)


def _incident(pod: Pod, play: Play, chance: random.Random) -> Iterator[tuple[int, str]]:
    templates = _failures(play, pod)
    if not templates:
        return
    load = play.load
    weights = [one.weight for one in templates]
    at = float(max(pod.starts, play.times.onset))
    while True:
        failures = load.of(pod.part, int(at)) / play.much.replicas * load.failing(pod.part, int(at))
        at += chance.expovariate(max(failures * _LINES_PER_FAILURE, 0.02)) * SECOND
        if at >= pod.ends:
            return
        if load.failing(pod.part, int(at)) > 0:
            yield _ns(at, chance), chance.choices(templates, weights)[0].fill(chance)


def _reindex(pod: Pod, play: Play) -> Iterator[tuple[int, str]]:
    times = play.times
    yield times.reindex_from * 1_000_000, f'level=info msg="rebuilding index" trigger=nightly-catalogue pod={pod.name}'
    yield times.reindex_until * 1_000_000, 'level=info msg="index rebuilt" documents=184220'
