"""A latency histogram as a client library keeps it: counters by upper bound, their sum and their count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from inquest.scenarios.generate.recorder import Recorder, metric

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf)
_SPREAD = 0.7  # sigma of the logarithm
_LATE_FROM_S = 0.5
_WAITING_PER_TIMEOUT = 1.1
_MOST_WAIT = 0.5


@dataclass(frozen=True, slots=True)
class Answers:
    """What was answered since the last scrape: `requests`, `slowness` times as slow as usual.

    `timed_out` of them (a share) waited `timeout_s` in vain; about as many got what they waited for, late.
    """

    requests: float
    slowness: float = 1.0
    timed_out: float = 0.0
    timeout_s: float = 5.0


class Histogram:
    """Log-normal around a median in seconds, and timeouts on top."""

    def __init__(self, recorder: Recorder, name: str, where: dict[str, str], median_s: float) -> None:
        self._recorder = recorder
        self._median = median_s
        self._buckets = [metric(f"{name}_bucket", where, le=_written(upper)) for upper in _BOUNDS]
        self._sum, self._count = metric(f"{name}_sum", where), metric(f"{name}_count", where)
        self._curves: dict[float, list[float]] = {}
        self._totals = [0.0] * len(_BOUNDS)
        self._seconds = 0.0

    def _below(self, slowness: float) -> list[float]:
        """Give the share of answers below each bound."""
        if slowness not in self._curves:
            curve = NormalDist(math.log(self._median * slowness), _SPREAD)
            self._curves[slowness] = [1.0 if math.isinf(upper) else curve.cdf(math.log(upper)) for upper in _BOUNDS]
        return self._curves[slowness]

    def add(self, at: int, answers: Answers) -> None:
        """Record a scrape."""
        slowness = round(answers.slowness, 2)  # few enough curves to keep
        below = self._below(slowness)
        failing = answers.timed_out
        waiting = min(failing * _WAITING_PER_TIMEOUT, _MOST_WAIT)  # evenly between half a second and the timeout
        usual = 1 - failing - waiting
        mean = self._median * slowness * math.exp(_SPREAD**2 / 2)
        late = (answers.timeout_s + _LATE_FROM_S) / 2
        self._seconds += answers.requests * (failing * answers.timeout_s + waiting * late + usual * mean)
        for index, upper in enumerate(_BOUNDS):
            came = min(max((upper - _LATE_FROM_S) / (answers.timeout_s - _LATE_FROM_S), 0.0), 1.0)
            share = usual * below[index] + waiting * came + failing * (upper > answers.timeout_s)
            self._totals[index] += answers.requests * share
            self._recorder.add(self._buckets[index], at, math.floor(self._totals[index]))
        self._recorder.add(self._count, at, math.floor(self._totals[-1]))
        self._recorder.add(self._sum, at, round(self._seconds, 6))


def _written(upper: float) -> str:
    return "+Inf" if math.isinf(upper) else f"{upper:g}"
