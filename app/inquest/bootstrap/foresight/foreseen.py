"""What would be asked, of whom, at what cost, and what would be sent where."""

from __future__ import annotations

from inquest.domain.budget import Limits
from inquest.domain.hypothesis import Hypothesis
from inquest.domain.investigation import Facts, RankedTool, ServiceGuess
from inquest.domain.value import Instant, Json, Value


class ForeseenCall(Value):
    """A call that would be made before the first turn, as its tool has prepared it.

    `host` is the only one that it can reach. `expression` is "" for a tool with typed arguments.
    """

    tool: str
    integration: str
    host: str
    expression: str
    arguments: dict[str, Json]
    start: Instant
    end: Instant
    max_bytes: int
    max_items: int
    timeout_ms: int
    why: str


class Worst(Value):
    """The most that can be spent on a model: requests, tokens of both directions, and millionths of a dollar."""

    requests: int
    tokens: int
    usd_micros: int


class ForeseenModel(Value):
    """Who would be asked what to do next; `hosts` is empty for the analyst, which asks nobody."""

    names: tuple[str, ...]
    hosts: tuple[str, ...]
    worst: Worst


class ForeseenDelivery(Value):
    """What one destination would be sent, and where that is."""

    destination: str
    type: str
    where: str
    what: str


class Foreseen(Value):
    """All of it. `asked_first` and `assumed` are `try`'s: its questions before this, and what only they can tell.

    `further_calls` is how many more the investigator may make, each within the same budgets and to the same hosts.
    `further_groups` counts the alert groups of the post beside the one that is shown.
    """

    alerts: int
    further_groups: int
    facts: Facts
    service: ServiceGuess
    hypotheses: tuple[Hypothesis, ...]
    tools: tuple[RankedTool, ...]
    calls: tuple[ForeseenCall, ...]
    further_calls: int
    limits: Limits
    model: ForeseenModel
    deliveries: tuple[ForeseenDelivery, ...]
    asked_first: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
