"""How much is asked of each service, how much of it fails, and what it waits for: behind metrics and logs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inquest.scenarios.generate.magnitudes import Magnitudes
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Story
from inquest.scenarios.generate.timeline import HOUR, MINUTE, SECOND, Timeline

_VICTIM_LAG_MS = 40 * SECOND  # the front end gives up on checkout a while after checkout does
_FULL_AT_ONSET = 0.93  # of the pool: the slowest requests fail first
_UNDER_LOAD = 0.12  # what is asked twice as much answers so much slower


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests per second, failing shares and slowness at a time (epoch ms)."""

    story: Story
    times: Timeline
    much: Magnitudes
    phases: tuple[float, float]

    def of(self, part: Part, at: int) -> float:
        """Give the requests per second of all pods of `part`."""
        # An order that gets no connection never reaches payments.
        lost = self.failing(Part.CHECKOUT, at) if part is Part.PAYMENTS else 0.0
        return self.much.requests_per_second * self.much.shares[part] * self._curve(at) * self.surge(at) * (1 - lost)

    def _curve(self, at: int) -> float:
        """Give a day's curve with two slow ripples, 1 at the onset but for the ripples."""
        ripple = 0.04 * math.sin(at / (17 * MINUTE) + self.phases[0]) + 0.03 * math.sin(
            at / (4 * MINUTE) + self.phases[1]
        )
        return (_day(at) + ripple) / _day(self.times.onset)

    def effect(self, at: int) -> float:
        """Give how far the incident has come, 0 before the onset and 1 at full effect."""
        return min(max((at - self.times.onset) / (self.times.full_effect - self.times.onset), 0.0), 1.0)

    def strain(self, at: int, size: int) -> float:
        """Give how many times the usual connections a pod of checkout wants, of a pool of `size`."""
        if self.story is Story.UNSEEN or at <= self.times.trouble_from:
            return 1.0
        onset, worst = _FULL_AT_ONSET * size / self.much.held, self.much.overload * size / self.much.held
        if at < self.times.onset:
            return 1 + (onset - 1) * (at - self.times.trouble_from) / (self.times.onset - self.times.trouble_from)
        return onset + (worst - onset) * self.effect(at)

    def surge(self, at: int) -> float:
        """Give how many times as many customers as usual come."""
        return self.strain(at, self.much.pool_size.before) if self.story is Story.SURGE else 1.0

    def slowness(self, part: Part, at: int, *, is_new: bool = True) -> float:
        """Give how many times as long as usual `part` takes to answer: payments by its release, or the database."""
        slow = {Story.THEIR_RELEASE: Part.PAYMENTS, Story.SLOW_DATABASE: Part.DATABASE}.get(self.story)
        loaded = 1 + _UNDER_LOAD * (self.surge(at) - 1)
        if part is not slow or not is_new:
            return loaded
        size = self.much.size(is_new=Part.CHECKOUT in self.times.rollouts)
        return loaded * (1 + (self.strain(at, size) - 1) / self.much.held_for_others)

    def held(self, at: int, *, is_new: bool) -> float:
        """Give how many connections a pod of checkout wants, before noise and the pool's limit."""
        usual = self.much.held * self._curve(at)
        if self.story is Story.OWN_RELEASE and not is_new:
            return usual
        return usual * self.strain(at, self.much.size(is_new=is_new))

    def failing(self, part: Part, at: int) -> float:
        """Give the share of requests to `part` that fail because of the incident."""
        if part is Part.CHECKOUT:
            return self.much.failing_at_worst * self.effect(at)
        if part is Part.FRONTEND:
            share = self.much.shares[Part.CHECKOUT]
            return share * self.much.failing_at_worst * self.effect(at - _VICTIM_LAG_MS)
        return 0.0

    def reindexing(self, at: int) -> bool:
        """Say whether the search index is being rebuilt: busy, and nobody's fault."""
        return self.times.reindex_from <= at < self.times.reindex_until


def _day(at: int) -> float:
    return 1 + 0.18 * math.sin(2 * math.pi * (at % (24 * HOUR) - 9 * HOUR) / (24 * HOUR))


def traffic(seed: int, story: Story, times: Timeline, much: Magnitudes) -> Traffic:
    """Draw the traffic of variation `seed`."""
    chance = noise(seed, "traffic")
    return Traffic(story, times, much, (chance.uniform(0, 6), chance.uniform(0, 6)))
