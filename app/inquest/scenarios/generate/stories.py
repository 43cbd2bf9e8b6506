"""What happened in a variation: the story behind its signals. Which one it is stands in no name and no text."""

from __future__ import annotations

from enum import StrEnum

from inquest.scenarios.generate.noise import noise


class Story(StrEnum):
    """Why checkout fails."""

    OWN_RELEASE = "own_release"
    """Its own deployment: more workers, a smaller connection pool. That of payments, before it, is harmless."""
    THEIR_RELEASE = "their_release"
    """A deployment of payments, which makes it slow: checkout waits with a connection in hand. Its own is harmless."""
    SURGE = "surge"
    """More customers than the pool has connections for. Nothing was deployed."""
    SLOW_DATABASE = "slow_database"
    """The database becomes slow by itself. Nothing was deployed."""
    UNSEEN = "unseen"
    """Only checkout's log would tell, and there is none."""


class Logs(StrEnum):
    """What is to be had of the shop's logs."""

    SERVED = "served"
    UNREACHABLE = "unreachable"
    """Loki does not answer."""
    NONE = "none"
    """Nothing was ever shipped."""
    STOPPED = "stopped"
    """Shipping stopped a while before the trouble."""


def story_of(seed: int) -> Story:
    """Say what happened in variation `seed`. Of 0, the variation that the pages describe, it is its own release."""
    return Story.OWN_RELEASE if seed == 0 else noise(seed, "story").choice(list(Story))


def logs_of(seed: int) -> Logs:
    """Say what is to be had of the logs in variation `seed`."""
    if story_of(seed) is not Story.UNSEEN:
        return Logs.SERVED
    return noise(seed, "logs").choice((Logs.UNREACHABLE, Logs.NONE, Logs.STOPPED))
