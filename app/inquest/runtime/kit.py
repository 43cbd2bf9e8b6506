"""What the stages of one investigation are bound to, and what its first claim starts from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from inquest.domain.budget import Limits
from inquest.domain.episode import Episode
from inquest.domain.event import EpisodeChanged
from inquest.domain.investigation import Identity, Origin
from inquest.domain.service import Service
from inquest.domain.transcript import ModelRequest
from inquest.ports import Connector, Investigator, Signer
from inquest.stages.cost import Price, costs_nothing
from inquest.telemetry import Metrics


@dataclass(frozen=True)
class RunKit:
    """Everything that the stages of one investigation are bound to.

    `prompts` are the bytes of the prompts by name; `investigator` was made from those of run_started.
    `price` is the model's. `boundary` fences untrusted text. `episode_changes` gives what the episode did since the journal's last look.
    """

    connectors: Sequence[Connector]
    catalogue: tuple[Service, ...]
    health: Mapping[str, Literal["ok", "failing", "unknown"]]
    investigator: Investigator
    analyst: Investigator
    count_tokens: Callable[[ModelRequest], int]
    prompts: Mapping[str, bytes]
    limits: Limits
    boundary: str
    signer: Signer | None
    release: str
    episode_changes: Callable[[], Awaitable[EpisodeChanged | None]]
    metrics: Metrics | None = None
    price: Price = costs_nothing


@dataclass(frozen=True)
class Opened:
    """What an investigation is about when it is first claimed. `started_at` is that moment, database time."""

    identity: Identity
    origin: Origin
    episode: Episode
    started_at: datetime


Open = Callable[[], Awaitable[Opened]]
"""Reads what the first claim starts from; asked only when nothing is recorded."""
