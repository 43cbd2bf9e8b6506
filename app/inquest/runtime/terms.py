"""What a claim acts under."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from inquest.domain.fence import Fence
from inquest.ports import Clock
from inquest.runtime.attempts import Sleep
from inquest.runtime.held import HeldContents
from inquest.runtime.replies import as_it_is
from inquest.stages.tools import BoundTool
from inquest.telemetry import Metrics


@dataclass(frozen=True)
class Terms:
    """What a claim acts under.

    `tools` are the workspace's, by name. `may_act` is the worker's: false once the lease has run out by
    the monotonic clock, and while the worker drains. `scrub` masks secrets in a model's text, which is
    sanitised in any case.
    """

    fence: Fence
    clock: Clock
    tools: Mapping[str, BoundTool]
    may_act: Callable[[], bool]
    scrub: Callable[[str], str] = as_it_is
    sleep: Sleep = asyncio.sleep
    metrics: Metrics | None = None
    held: HeldContents = field(default_factory=HeldContents)
