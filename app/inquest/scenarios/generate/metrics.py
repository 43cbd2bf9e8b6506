"""What Prometheus would have scraped: requests, latency, pools, CPU, the cluster's view, the database's."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

from inquest.scenarios.generate.fleet import NAMESPACE, REPLICAS, SERVICES, Pod
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.recorder import Recorder, metric
from inquest.scenarios.generate.release import NEW_POOL_SIZE, OLD_POOL_SIZE
from inquest.scenarios.generate.timeline import MINUTE, SCRAPE_MS, Timeline
from inquest.scenarios.generate.traffic import Traffic
from inquest.scenarios.pack.format import MetricMetadata

_HELD_BEFORE = 11.0  # connections a pod of checkout has in use on a normal day
_HELD_AT_ONSET = 15.5
_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf)
_MEDIAN_S = {"frontend": 0.08, "checkout": 0.06, "payments": 0.12}
_SPREAD = 0.7  # sigma of the logarithm
_TIMEOUT_S = 5.02  # a request that waited in vain for a connection
_STATUSES = {
    "frontend": {"200": 0.948, "304": 0.04, "404": 0.011, "502": 0.001},
    "checkout": {"200": 0.985, "400": 0.0135, "500": 0.001, "503": 0.0005},
    "payments": {"200": 0.955, "402": 0.044, "500": 0.001},
    "search": {"200": 0.997, "400": 0.0025, "500": 0.0005},
}
_FAILS_AS = {"frontend": "502", "checkout": "503"}
_CPU_CORES = {"frontend": 0.5, "checkout": 0.45, "payments": 0.3, "search": 0.3}
_MEMORY_MIB = {"frontend": 310, "checkout": 420, "payments": 350, "search": 900}

METADATA = {
    "up": MetricMetadata("gauge", "", ""),
    "http_requests_total": MetricMetadata("counter", "Requests answered, by status.", ""),
    "http_request_duration_seconds": MetricMetadata("histogram", "Time to answer a request.", ""),
    "db_pool_connections_in_use": MetricMetadata("gauge", "Database connections handed out.", ""),
    "db_pool_connections_max": MetricMetadata("gauge", "Size of the database connection pool.", ""),
    "db_pool_pending_requests": MetricMetadata("gauge", "Requests waiting for a connection.", ""),
    "db_pool_wait_seconds": MetricMetadata("gauge", "Mean wait for a connection over the last interval.", ""),
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


def record_metrics(recorder: Recorder, pods: list[Pod], load: Traffic, *, seed: int, times: Timeline) -> None:
    """Record every metric of the shop but ALERTS."""
    for pod in pods:
        chance = noise(seed, f"metrics/{pod.name}")
        _record_requests(recorder, pod, load, chance)
        _record_process(recorder, pod, load, chance)
        if pod.service == "checkout":
            _record_pool(recorder, pod, load, chance)
    _record_cluster(recorder, pods, times, noise(seed, "cluster"))
    _record_database(recorder, pods, load, noise(seed, "database"), times)


def _where(pod: Pod) -> dict[str, str]:
    return {"namespace": NAMESPACE, "service": pod.service, "pod": pod.name, "job": pod.service}


def _record_requests(recorder: Recorder, pod: Pod, load: Traffic, chance: random.Random) -> None:
    where = _where(pod)
    counts = {status: metric("http_requests_total", where, status=status) for status in _STATUSES[pod.service]}
    totals = dict.fromkeys(counts, 0.0)
    latency = _Latency(recorder, pod) if pod.service in _MEDIAN_S else None
    before = pod.starts
    for at in pod.scrapes():
        expected = load.of(pod.service, at) / REPLICAS * (at - before) / 1000
        requests = max(chance.gauss(expected, math.sqrt(expected) * 1.3), 0.0)
        failing = load.failing(pod.service, at) * chance.uniform(0.9, 1.1)
        for status, share in _STATUSES[pod.service].items():
            own = share * (1 - failing) * (chance.uniform(0.2, 1.8) if share < 0.1 else 1.0)  # noqa: PLR2004 - rare ones vary
            totals[status] += requests * (own + (failing if status == _FAILS_AS.get(pod.service) else 0.0))
            recorder.add(counts[status], at, math.floor(totals[status]))
        if latency is not None:
            latency.add(at, requests, failing)
        before = at


class _Latency:
    """A histogram: log-normal on a normal day, with timeouts at five seconds in the incident."""

    def __init__(self, recorder: Recorder, pod: Pod) -> None:
        where = _where(pod)
        name = "http_request_duration_seconds"
        self._recorder = recorder
        self._median = _MEDIAN_S[pod.service]
        self._buckets = [metric(f"{name}_bucket", where, le=_written(upper)) for upper in _BOUNDS]
        self._sum, self._count = metric(f"{name}_sum", where), metric(f"{name}_count", where)
        curve = NormalDist(math.log(self._median), _SPREAD)
        self._below = [1.0 if math.isinf(upper) else curve.cdf(math.log(upper)) for upper in _BOUNDS]
        self._totals = [0.0] * len(_BOUNDS)
        self._seconds = 0.0

    def add(self, at: int, requests: float, failing: float) -> None:
        waiting = min(failing * 1.1, 0.5)  # got a connection, but late: evenly between half a second and five
        mean = self._median * math.exp(_SPREAD**2 / 2)
        self._seconds += requests * (failing * _TIMEOUT_S + waiting * 2.75 + (1 - failing - waiting) * mean)
        for index, upper in enumerate(_BOUNDS):
            late = min(max((upper - 0.5) / 4.5, 0.0), 1.0)
            share = (1 - failing - waiting) * self._below[index] + waiting * late + failing * (upper > _TIMEOUT_S)
            self._totals[index] += requests * share
            self._recorder.add(self._buckets[index], at, math.floor(self._totals[index]))
        self._recorder.add(self._count, at, math.floor(self._totals[-1]))
        self._recorder.add(self._sum, at, round(self._seconds, 6))


def _written(upper: float) -> str:
    return "+Inf" if math.isinf(upper) else f"{upper:g}"


def _record_process(recorder: Recorder, pod: Pod, load: Traffic, chance: random.Random) -> None:
    where = _where(pod)
    names = ("up", "process_cpu_seconds_total", "process_resident_memory_bytes")
    up, cpu, memory = (metric(name, where) for name in names)
    seconds, before = chance.uniform(1, 5), pod.starts
    grown = 0.0
    for at in pod.scrapes():
        cores = _CPU_CORES[pod.service] * load.of(pod.service, at) / load.of(pod.service, pod.starts)
        if pod.service == "search" and load.reindexing(at):
            cores = 0.86
        if pod.service == "checkout" and pod.is_new:
            cores *= 1.25 - 0.5 * load.effect(at)  # more workers, then most of them wait
        if pod.service == "payments" and pod.is_new and at - pod.starts < 2 * MINUTE:
            cores *= 1.6  # warming up
        seconds += max(cores * chance.gauss(1, 0.06), 0) * (at - before) / 1000
        grown = 0.98 * grown + chance.gauss(0, 2)
        recorder.add(up, at, 1)
        recorder.add(cpu, at, round(seconds, 2))
        recorder.add(memory, at, float(int((_MEMORY_MIB[pod.service] + grown) * 1024) * 1024))
        before = at


def held_connections(pod: Pod, load: Traffic, at: int) -> float:
    """Give how many connections a pod of checkout has handed out, before noise and the pool's limit."""
    normal = _HELD_BEFORE * load.of("checkout", at) / load.of("checkout", load.times.start)
    if not pod.is_new:
        return normal
    # Four times the workers hold connections side by side, more and more as they warm up; with the onset
    # demand passes the pool's size.
    filled = min((at - pod.starts) / (load.times.onset - pod.starts), 1.0)
    return normal + (_HELD_AT_ONSET - normal) * filled + 60 * load.effect(at)


def _record_pool(recorder: Recorder, pod: Pod, load: Traffic, chance: random.Random) -> None:
    where = {**_where(pod), "pool": "orders-db"}
    size = NEW_POOL_SIZE if pod.is_new else OLD_POOL_SIZE
    names = ("in_use", "max")
    in_use, largest = (metric(f"db_pool_connections_{name}", where) for name in names)
    pending, wait = metric("db_pool_pending_requests", where), metric("db_pool_wait_seconds", where)
    for at in pod.scrapes():
        wanted = held_connections(pod, load, at) + chance.gauss(0, 1.1)
        waiting = max(wanted - size, 0.0) if load.effect(at) else 0.0
        recorder.add(in_use, at, float(min(max(round(wanted), 0), size)))
        recorder.add(largest, at, float(size))
        recorder.add(pending, at, float(min(round(waiting), 44)))
        recorder.add(wait, at, round(chance.uniform(0.0008, 0.004) + min(waiting * 0.09, 4.9), 4))


def _record_cluster(recorder: Recorder, pods: list[Pod], times: Timeline, chance: random.Random) -> None:
    phase = chance.randrange(SCRAPE_MS)
    deployed = {"checkout": times.deploy_started_at, "payments": times.payments_deployed_at - 2 * MINUTE}
    generations = {service: chance.randrange(40, 400) for service in SERVICES}
    where = {"namespace": NAMESPACE, "job": "kube-state-metrics"}
    for at in range(times.start + phase, times.end, SCRAPE_MS):
        for service in SERVICES:
            generation = generations[service] + (at >= deployed.get(service, times.end))
            shown = {
                "kube_deployment_spec_replicas": REPLICAS,
                "kube_deployment_status_replicas_available": REPLICAS,
                "kube_deployment_status_observed_generation": generation,
            }
            for name, value in shown.items():
                recorder.add(metric(name, where, deployment=service), at, float(value))
        for pod in pods:
            if pod.starts <= at < pod.ends:
                restarts = metric(
                    "kube_pod_container_status_restarts_total", where, pod=pod.name, container=pod.service
                )
                recorder.add(restarts, at, 0.0)


def _record_database(
    recorder: Recorder, pods: list[Pod], load: Traffic, chance: random.Random, times: Timeline
) -> None:
    where = {"namespace": NAMESPACE, "service": "orders-db", "job": "postgres", "instance": "orders-db-0:9187"}
    up, limit = metric("pg_up", where), metric("pg_settings_max_connections", where)
    backends = metric("pg_stat_database_numbackends", where, datname="shop")
    phase = chance.randrange(SCRAPE_MS)
    checkout = [pod for pod in pods if pod.service == "checkout"]
    for at in range(times.start + phase, times.end, SCRAPE_MS):
        held = sum(
            min(held_connections(pod, load, at) + 4, NEW_POOL_SIZE if pod.is_new else OLD_POOL_SIZE)
            for pod in checkout
            if pod.starts <= at < pod.ends
        )
        recorder.add(up, at, 1.0)
        recorder.add(limit, at, 200.0)
        recorder.add(backends, at, float(round(held + 12 + chance.gauss(0, 1))))
