"""What Prometheus would have scraped: requests, latency, pools, CPU, the cluster's view, the database's."""

from __future__ import annotations

import math
import random

from inquest.scenarios.generate.fleet import Pod
from inquest.scenarios.generate.histogram import Answers, Histogram
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.play import Play
from inquest.scenarios.generate.recorder import Recorder, metric
from inquest.scenarios.generate.shop import SERVICES, Part, Shop
from inquest.scenarios.generate.stories import Story
from inquest.scenarios.generate.timeline import MINUTE, SCRAPE_MS
from inquest.scenarios.pack.format import MetricMetadata

_MEDIAN_S = {Part.FRONTEND: 0.08, Part.CHECKOUT: 0.06, Part.PAYMENTS: 0.12, Part.DATABASE: 0.004}
_STATUSES = {
    Part.FRONTEND: {"200": 0.948, "304": 0.04, "404": 0.011, "502": 0.001},
    Part.CHECKOUT: {"200": 0.985, "400": 0.0135, "500": 0.001, "503": 0.0005},
    Part.PAYMENTS: {"200": 0.955, "402": 0.044, "500": 0.001},
    Part.SEARCH: {"200": 0.997, "400": 0.0025, "500": 0.0005},
}
_RARE = 0.1  # a status that is rarer varies from scrape to scrape
_CPU_CORES = {Part.FRONTEND: 0.5, Part.CHECKOUT: 0.45, Part.PAYMENTS: 0.3, Part.SEARCH: 0.3}
_MEMORY_MIB = {Part.FRONTEND: 310, Part.CHECKOUT: 420, Part.PAYMENTS: 350, Part.SEARCH: 900}
_STATEMENTS_PER_ORDER = 6
_UNEVEN = 0.04  # from scrape to scrape, some answers take longer than others
_OWN_BACKENDS = 12  # of the database itself and its exporters


def metadata(shop: Shop) -> dict[str, MetricMetadata]:
    """Give what the expositions say about their metrics."""
    return {
        "up": MetricMetadata("gauge", "", ""),
        shop.http.requests: MetricMetadata("counter", "Requests answered, by status.", ""),
        shop.http.duration: MetricMetadata("histogram", "Time to answer a request.", ""),
        shop.pool.in_use: MetricMetadata("gauge", "Database connections handed out.", ""),
        shop.pool.idle: MetricMetadata("gauge", "Open database connections that nobody uses.", ""),
        shop.pool.opened: MetricMetadata("gauge", "Open database connections.", ""),
        shop.pool.largest: MetricMetadata("gauge", "Size of the database connection pool.", ""),
        shop.pool.pending: MetricMetadata("gauge", "Requests waiting for a connection.", ""),
        shop.pool.wait: MetricMetadata("gauge", "Wait for a connection over the last interval.", ""),
        shop.query_duration: MetricMetadata("histogram", "Time to run a statement.", ""),
        "process_cpu_seconds_total": MetricMetadata("counter", "Processor time used.", ""),
        "process_resident_memory_bytes": MetricMetadata("gauge", "Resident memory.", ""),
        "kube_deployment_spec_replicas": MetricMetadata("gauge", "Replicas wanted.", ""),
        "kube_deployment_status_replicas_available": MetricMetadata("gauge", "Replicas available.", ""),
        "kube_deployment_status_observed_generation": MetricMetadata("gauge", "Generation last acted on.", ""),
        "kube_pod_container_status_restarts_total": MetricMetadata("counter", "Restarts of a container.", ""),
        "pg_up": MetricMetadata("gauge", "Whether the last scrape could connect.", ""),
        "pg_stat_database_numbackends": MetricMetadata("gauge", "Backends connected to a database.", ""),
        "pg_settings_max_connections": MetricMetadata("gauge", "Server setting max_connections.", ""),
        "ALERTS": MetricMetadata("gauge", "Pending and firing alerts.", ""),
    }


def record_metrics(recorder: Recorder, pods: list[Pod], play: Play) -> None:
    """Record every metric of the shop but ALERTS."""
    for pod in pods:
        chance = noise(play.seed, f"metrics/{pod.name}")
        _record_requests(recorder, pod, play, chance)
        _record_process(recorder, pod, play, chance)
        if pod.part is Part.CHECKOUT:
            _record_pool(recorder, pod, play, chance)
    _record_cluster(recorder, pods, play, noise(play.seed, "cluster"))
    _record_database(recorder, pods, play, noise(play.seed, "database"))


def _where(pod: Pod, play: Play) -> dict[str, str]:
    return {**play.shop.scope(pod.part), "pod": pod.name, "job": play.shop.names[pod.part]}


def _record_requests(recorder: Recorder, pod: Pod, play: Play, chance: random.Random) -> None:
    where, load, shop = _where(pod, play), play.load, play.shop
    shares = _STATUSES[pod.part]
    fails_as = {Part.FRONTEND: "502", Part.CHECKOUT: play.much.fails_as}.get(pod.part)
    counts = {status: metric(shop.http.requests, {**where, shop.status_label: status}) for status in shares}
    totals = dict.fromkeys(counts, 0.0)
    latency = Histogram(recorder, shop.http.duration, where, _MEDIAN_S[pod.part]) if pod.part in _MEDIAN_S else None
    before = pod.starts
    for at in pod.scrapes():
        expected = load.of(pod.part, at) / play.much.replicas * (at - before) / 1000
        requests = max(chance.gauss(expected, math.sqrt(expected) * 1.3), 0.0)
        failing = load.failing(pod.part, at) * chance.uniform(0.9, 1.1)
        for status, share in shares.items():
            own = share * (1 - failing) * (chance.uniform(0.2, 1.8) if share < _RARE else 1.0)
            totals[status] += requests * (own + (failing if status == fails_as else 0.0))
            recorder.add(counts[status], at, math.floor(totals[status]))
        if latency is not None:
            waits = 0.0 if play.story is Story.UNSEEN else failing
            slowness = load.slowness(pod.part, at, is_new=pod.is_new) * chance.gauss(1, _UNEVEN)
            latency.add(at, Answers(requests, slowness, waits, play.much.acquire_timeout_s + 0.02))
        before = at


def _record_process(recorder: Recorder, pod: Pod, play: Play, chance: random.Random) -> None:
    where, load = _where(pod, play), play.load
    names = ("up", "process_cpu_seconds_total", "process_resident_memory_bytes")
    up, cpu, memory = (metric(name, where) for name in names)
    seconds, before = chance.uniform(1, 5), pod.starts
    grown = 0.0
    for at in pod.scrapes():
        cores = _CPU_CORES[pod.part] * load.of(pod.part, at) / load.of(pod.part, play.times.start)
        if pod.part is Part.SEARCH and load.reindexing(at):
            cores = 0.86
        if pod.part is Part.CHECKOUT and pod.is_new and play.story is Story.OWN_RELEASE:
            cores *= 1.25 - 0.5 * load.effect(at)  # more workers, then most of them wait
        if pod.is_new and at - pod.starts < 2 * MINUTE:
            cores *= 1.6  # warming up
        seconds += max(cores * chance.gauss(1, 0.06), 0) * (at - before) / 1000
        grown = 0.98 * grown + chance.gauss(0, 2)
        recorder.add(up, at, 1)
        recorder.add(cpu, at, round(seconds, 2))
        recorder.add(memory, at, float(int((_MEMORY_MIB[pod.part] + grown) * 1024) * 1024))
        before = at


def _record_pool(recorder: Recorder, pod: Pod, play: Play, chance: random.Random) -> None:
    load, shop = play.load, play.shop
    where = {**_where(pod, play), "pool": shop.names[Part.DATABASE]}
    size = play.much.size(is_new=pod.is_new)
    in_use, idle = metric(shop.pool.in_use, where), metric(shop.pool.idle, where)
    opened, largest = metric(shop.pool.opened, where), metric(shop.pool.largest, where)
    pending, wait = metric(shop.pool.pending, where), metric(shop.pool.wait, where)
    longest = play.much.acquire_timeout_s - 0.1
    for at in pod.scrapes():
        wanted = load.held(at, is_new=pod.is_new) + chance.gauss(0, 0.03 * size)
        waiting = max(wanted - size, 0.0) if load.effect(at) else 0.0
        used = min(max(round(wanted), 0), size)
        recorder.add(in_use, at, float(used))
        recorder.add(idle, at, float(size - used))
        recorder.add(opened, at, float(size))
        recorder.add(largest, at, float(size))
        recorder.add(pending, at, float(round(waiting)))
        recorder.add(wait, at, round(chance.uniform(0.0008, 0.004) + min(waiting * 0.09, longest), 4))


def _record_cluster(recorder: Recorder, pods: list[Pod], play: Play, chance: random.Random) -> None:
    times, shop = play.times, play.shop
    phase = chance.randrange(SCRAPE_MS)
    generations = {part: chance.randrange(40, 400) for part in SERVICES}
    where = {"namespace": shop.namespace, "job": "kube-state-metrics"}
    for at in range(times.start + phase, times.end, SCRAPE_MS):
        for part in SERVICES:
            rollout = times.rollouts.get(part)
            shown = {
                "kube_deployment_spec_replicas": play.much.replicas,
                "kube_deployment_status_replicas_available": play.much.replicas,
                "kube_deployment_status_observed_generation": generations[part]
                + (rollout is not None and at >= rollout.begun_at),
            }
            for name, value in shown.items():
                recorder.add(metric(name, where, deployment=shop.names[part]), at, float(value))
        for pod in pods:
            if pod.starts <= at < pod.ends:
                restarts = metric(
                    "kube_pod_container_status_restarts_total", where, pod=pod.name, container=shop.names[pod.part]
                )
                recorder.add(restarts, at, 0.0)


def _record_database(recorder: Recorder, pods: list[Pod], play: Play, chance: random.Random) -> None:
    shop, load, times = play.shop, play.load, play.times
    name = shop.names[Part.DATABASE]
    where = {**shop.scope(Part.DATABASE), "job": "postgres", "instance": f"{name}-0:9187"}
    up, limit = metric("pg_up", where), metric("pg_settings_max_connections", where)
    backends = metric("pg_stat_database_numbackends", where, datname=shop.namespace)
    statements = Histogram(recorder, shop.query_duration, where, _MEDIAN_S[Part.DATABASE])
    phase = chance.randrange(SCRAPE_MS)
    checkout = [pod for pod in pods if pod.part is Part.CHECKOUT]
    for at in range(times.start + phase, times.end, SCRAPE_MS):
        held = sum(
            min(load.held(at, is_new=pod.is_new) + 4, play.much.size(is_new=pod.is_new))
            for pod in checkout
            if pod.starts <= at < pod.ends
        )
        orders = load.of(Part.CHECKOUT, at) * (1 - load.failing(Part.CHECKOUT, at))
        run = orders * _STATEMENTS_PER_ORDER * SCRAPE_MS / 1000 * chance.gauss(1, 0.03)
        recorder.add(up, at, 1.0)
        recorder.add(limit, at, float(play.much.max_connections))
        recorder.add(backends, at, float(round(held + _OWN_BACKENDS + chance.gauss(0, 1))))
        statements.add(at, Answers(run, load.slowness(Part.DATABASE, at) * chance.gauss(1, _UNEVEN)))
