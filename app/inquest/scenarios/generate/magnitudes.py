"""How much of everything there is in a variation. Only `pool_size` and `workers` after a release depend on the story."""

from __future__ import annotations

from dataclasses import dataclass

from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Story


@dataclass(frozen=True, slots=True)
class Setting:
    """A number of a service's configuration, before and after its release."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Magnitudes:
    """The numbers of one variation.

    `requests_per_second` are those of the front end; `shares` what of them each service gets. A pod of
    checkout has `held` connections in use on a normal day. `overload` is the demand for connections at its
    worst, in pools. `held_for_others` is the share of that time that it waits for what it calls.
    """

    replicas: int
    requests_per_second: float
    shares: dict[Part, float]
    pool_size: Setting
    workers: Setting
    in_flight: Setting
    held: float
    overload: float
    held_for_others: float
    failing_at_worst: float
    fails_as: str
    acquire_timeout_s: int
    error_threshold: float
    fires_after_s: int
    max_connections: int

    def size(self, *, is_new: bool) -> int:
        """Give the pool of a pod of checkout, which may belong to its release."""
        return self.pool_size.after if is_new else self.pool_size.before


def magnitudes(seed: int, story: Story) -> Magnitudes:
    """Draw the numbers of variation `seed`."""
    chance = noise(seed, "magnitudes")
    pool, workers, in_flight = (
        chance.randrange(30, 61),
        chance.choice((8, 12, 16, 24)),
        chance.choice((48, 64, 96)),
    )
    held, overload = pool * chance.uniform(0.36, 0.44), chance.uniform(1.4, 1.8)
    checkout = chance.uniform(0.15, 0.3)
    own, theirs = story is Story.OWN_RELEASE, story is Story.THEIR_RELEASE
    replicas = chance.randrange(3, 6)
    return Magnitudes(
        replicas=replicas,
        requests_per_second=chance.uniform(300, 800),
        shares={
            Part.FRONTEND: 1.0,
            Part.CHECKOUT: checkout,
            Part.PAYMENTS: checkout * chance.uniform(0.8, 0.95),
            Part.SEARCH: chance.uniform(0.3, 0.5),
        },
        pool_size=Setting(pool, round(pool * 0.6) if own else pool + 2),
        workers=Setting(workers, workers * 4 if own else workers + 2),
        in_flight=Setting(in_flight, in_flight // 12 if theirs else in_flight + 8),
        held=held,
        overload=overload,
        held_for_others=chance.uniform(0.45, 0.7),
        # With a surge it is what finds no connection: the demand above what the pools carry.
        failing_at_worst=1 - 1 / overload if story is Story.SURGE else chance.uniform(0.22, 0.42),
        fails_as=chance.choice(("503", "500")),
        acquire_timeout_s=chance.choice((3, 5, 8)),
        error_threshold=chance.choice((0.03, 0.04, 0.05, 0.08)),
        fires_after_s=chance.choice((120, 180, 240)),
        max_connections=100 * (2 + replicas * pool // 100),
    )
