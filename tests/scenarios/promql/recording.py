"""Random recordings for the differential test: counters with resets, gaps and early ends, gauges, histograms."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterator

from inquest.scenarios.promql.samples import Samples, Series, labels_of

START_MS = 1_700_000_000_000
SCRAPES = 160
INTERVAL_MS = 15_000
BOUNDS = ("0.1", "0.25", "0.5", "1.0", "2.5", "+Inf")


def samples_of(seed: int) -> Samples:
    return Samples(_series(random.Random(seed)))  # noqa: S311 - a test wants the same numbers again


def _series(chance: random.Random) -> Iterator[Series]:
    for service in ("checkout", "frontend"):
        for pod in ("a", "b", "c"):
            where = {"service": service, "pod": pod, "instance": f"10.0.0.{chance.randrange(9)}:80"}
            for status in ("200", "500"):
                labels = {"__name__": "http_requests_total", "status": status, **where}
                yield _recorded(chance, labels, _counter(chance))
            yield _recorded(chance, {"__name__": "pool_in_use", **where}, _gauge(chance))
            yield _recorded(chance, {"__name__": "pool_max", **where}, [chance.choice([20.0, 40.0])] * SCRAPES)
        yield from _histogram(chance, service)
    yield _recorded(chance, {"__name__": "odd", "kind": "special"}, _odd(chance))


def _counter(chance: random.Random) -> list[float]:
    total, values = float(chance.randrange(50)), []
    for _ in range(SCRAPES):
        total = 0.0 if chance.random() < 0.02 else total + chance.choice([0, 1, 3, 17, 0.5])
        values.append(total)
    return values


def _gauge(chance: random.Random) -> list[float]:
    return [round(chance.uniform(-5, 20), chance.choice([0, 3, 12])) for _ in range(SCRAPES)]


def _odd(chance: random.Random) -> list[float]:
    return [chance.choice([math.nan, math.inf, -math.inf, 0.0, 1e-9, 1e21, 3.0]) for _ in range(SCRAPES)]


def _histogram(chance: random.Random, service: str) -> Iterator[Series]:
    counts = [0.0] * len(BOUNDS)
    columns: list[list[float]] = [[] for _ in BOUNDS]
    for _ in range(SCRAPES):
        for _ in range(chance.randrange(8)):
            slot = chance.randrange(len(BOUNDS))
            for above in range(slot, len(BOUNDS)):
                counts[above] += 1
        for column, count in zip(columns, counts, strict=True):
            column.append(count)
    gone = {index for index in range(SCRAPES) if chance.random() < 0.03}
    for bound, column in zip(BOUNDS, columns, strict=True):
        labels = {"__name__": "latency_bucket", "service": service, "le": bound}
        times = [START_MS + index * INTERVAL_MS for index in range(SCRAPES) if index not in gone]
        values = [value for index, value in enumerate(column) if index not in gone]
        yield Series(labels_of(labels), array("q", times), array("d", values))


def _recorded(chance: random.Random, labels: dict[str, str], values: list[float]) -> Series:
    """Scrape `values` with jitter; some scrapes fail, some series begin late or end early."""
    first = chance.choice([0, 0, 40])
    last = chance.choice([SCRAPES, SCRAPES, 90])
    # On the grid or off it: a sample exactly on the edge of a window tells a closed interval from an open one.
    offset = chance.choice([0, 0, chance.randrange(INTERVAL_MS)])
    times, kept = array("q"), array("d")
    gap = range(0)
    for index in range(first, last):
        if chance.random() < 0.01:
            gap = range(index, index + chance.choice([1, 3, 25, 60]))
        if index in gap:
            continue
        jitter = chance.choice([0, 0, 0, 0, 1, -1, 250])
        times.append(START_MS + index * INTERVAL_MS + offset + jitter)
        kept.append(values[index])
    return Series(labels_of(labels), times, kept)


def open_metrics(samples: Samples) -> str:
    """Write the samples as promtool's backfill reads them."""
    lines, name = [], ""
    for one in samples.series:
        pairs = dict(one.labels)
        if pairs["__name__"] != name:
            name = pairs["__name__"]
            lines.append(f"# TYPE {name} unknown")
        inside = ",".join(f'{key}="{value}"' for key, value in one.labels if key != "__name__")
        for time, value in zip(one.times, one.values, strict=True):
            number = "NaN" if math.isnan(value) else repr(value).replace("inf", "Inf")
            lines.append(f"{name}{{{inside}}} {number} {time // 1000}.{time % 1000:03d}")
    return "\n".join([*lines, "# EOF", ""])
