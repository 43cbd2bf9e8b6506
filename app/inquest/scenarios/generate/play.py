"""One variation of the incident: its story, names, numbers, moments and traffic, drawn from the seed."""

from __future__ import annotations

from dataclasses import dataclass

from inquest.scenarios.generate.magnitudes import Magnitudes, magnitudes
from inquest.scenarios.generate.shop import Shop, shop
from inquest.scenarios.generate.stories import Story, story_of
from inquest.scenarios.generate.timeline import Timeline, timeline
from inquest.scenarios.generate.traffic import Traffic, traffic


@dataclass(frozen=True, slots=True)
class Play:
    """What every part of the recording is made from."""

    seed: int
    story: Story
    shop: Shop
    much: Magnitudes
    times: Timeline
    load: Traffic


def play(seed: int) -> Play:
    """Draw the variation `seed`."""
    story = story_of(seed)
    much = magnitudes(seed, story)
    times = timeline(seed, story, much.replicas)
    return Play(seed, story, shop(seed), much, times, traffic(seed, story, times, much))
