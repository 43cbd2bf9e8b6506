"""How much is asked of each service, and how much of it fails: the model behind metrics and logs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.timeline import HOUR, MINUTE, SECOND, Timeline

_VICTIM_LAG_MS = 40 * SECOND  # the front end gives up on checkout a while after checkout does
_CHECKOUT_SHARE = 0.2  # of the front end's requests call checkout
_FAILING_AT_WORST = 0.34  # of checkout's requests


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests per second and failing shares at a time (epoch ms)."""

    times: Timeline
    base: float
    phases: tuple[float, float]

    def of(self, service: str, at: int) -> float:
        """Give the requests per second of all pods of `service`: a day's curve with two slow ripples."""
        day = math.sin(2 * math.pi * (at % (24 * HOUR) - 9 * HOUR) / (24 * HOUR))
        ripple = 0.04 * math.sin(at / (17 * MINUTE) + self.phases[0]) + 0.03 * math.sin(
            at / (4 * MINUTE) + self.phases[1]
        )
        frontend = self.base * (1 + 0.18 * day + ripple)
        share = {"frontend": 1.0, "checkout": _CHECKOUT_SHARE, "payments": 0.17, "search": 0.4}[service]
        # An order that gets no database connection never reaches payments.
        lost = self.failing("checkout", at) if service == "payments" else 0.0
        return frontend * share * (1 - lost)

    def effect(self, at: int) -> float:
        """Give how far the incident has come, 0 before the onset and 1 at full effect."""
        return min(max((at - self.times.onset) / (self.times.full_effect - self.times.onset), 0.0), 1.0)

    def failing(self, service: str, at: int) -> float:
        """Give the share of requests to `service` that fail because of the incident."""
        if service == "checkout":
            return _FAILING_AT_WORST * self.effect(at)
        if service == "frontend":
            return _CHECKOUT_SHARE * _FAILING_AT_WORST * self.effect(at - _VICTIM_LAG_MS)
        return 0.0

    def reindexing(self, at: int) -> bool:
        """Say whether the search index is being rebuilt: busy, and nobody's fault."""
        return self.times.reindex_from <= at < self.times.reindex_until


def traffic(seed: int, times: Timeline) -> Traffic:
    """Draw the traffic of variation `seed`."""
    chance = noise(seed, "traffic")
    return Traffic(times, chance.uniform(420, 660), (chance.uniform(0, 6), chance.uniform(0, 6)))
