"""Values of opening, claiming and leasing: what the in-memory and the Postgres store both speak."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from inquest.domain.budget import MAX_ATTEMPTS
from inquest.domain.event import EVENT_SCHEMA_VERSION
from inquest.domain.fence import Fence
from inquest.domain.investigation import WORKFLOW, Identity, Origin
from inquest.domain.value import Instant, Value

LEASE = timedelta(seconds=6)
BACKOFF_S = (1, 5, 25, 60)
"""Seconds before the next claim after the first, second .. charged attempt (design 10)."""
FREE_STALLS = 3
"""How often in a row an owner may let go without progress because the database did not answer, until it is charged."""
MAX_RUNNING_IN_WORKSPACE = 4
WORKFLOW_VERSIONS = (WORKFLOW,)
"""The workflow versions that this release claims: its own and the previous one (there is none yet)."""
EVENT_VERSIONS = (EVENT_SCHEMA_VERSION, EVENT_SCHEMA_VERSION - 1)
"""The event schema versions that this release reads: its own and the previous one."""


class Opening(Value):
    """A new investigation of an existing episode, before anything happened.

    It starts `queued`; with `not_before` it starts `deferred`, for `defer_reason` (ours). `severity_rank`
    is 4 critical .. 1 info.
    """

    investigation_id: str
    episode_id: str
    session_id: str
    workflow: str = WORKFLOW
    severity_rank: int = 2
    not_before: Instant | None = None
    defer_reason: str = ""
    parent_id: str | None = None
    origin: Origin | None = None
    title: str = ""
    service: str = ""


class ClaimLimits(Value):
    """How much may run at once, what a day may cost, and how often one investigation may be tried."""

    max_running: int = Field(default=MAX_RUNNING_IN_WORKSPACE, ge=1)
    """Investigations running at once in a workspace that `by_workspace` does not name; waiting ones do not count."""
    by_workspace: dict[str, int] = Field(default_factory=dict)
    only: tuple[str, ...] | None = None
    """The workspaces that may be claimed at all: those of the worker's file. None: every one.

    Others are left, uncharged, for a worker that knows them.
    """
    max_attempts: int = Field(default=MAX_ATTEMPTS, ge=1)
    usd_micros_a_day: dict[str, int] = Field(default_factory=dict)
    """Millionths of a dollar that a workspace may spend on a day (UTC): after it nothing is begun there.

    One that is not named has no such ceiling.
    """
    installation_usd_micros_a_day: int | None = None
    """The same of all workspaces together. It holds nothing back in a workspace that is not named above."""


class Claimed(Value):
    """The right to act, and what its owner must know before it reads anything.

    `exhausted`: the attempts are used up; whoever holds this ends it `failed` with the evidence so far and
    does no other work. `version` 0: nothing is recorded, `run_started` is seq 1. Else the claim appended
    `generation_advanced`, and `version` counts it. `started_at` is the first claim of all, from which the
    wall clock runs; `now` and `lease_expires_at` are the store's clock.
    """

    fence: Fence
    identity: Identity
    version: int
    exhausted: bool
    started_at: Instant
    now: Instant
    lease_expires_at: Instant


def stall_wait(stalls: int) -> timedelta | None:
    """Give the wait after the owner let go for the `stalls`th time in a row without an answer; None charges it."""
    if stalls > FREE_STALLS:
        return None
    return timedelta(0) if stalls <= 1 else timedelta(seconds=BACKOFF_S[stalls - 2])


def backoff(attempt: int, max_attempts: int) -> timedelta:
    """Give the wait after attempt `attempt` (1-based) was charged.

    The last allowed attempt is followed at once by the claim that ends the investigation; should that
    one die as well, it waits the longest time.
    """
    if attempt == max_attempts:
        return timedelta(0)
    return timedelta(seconds=BACKOFF_S[min(attempt, len(BACKOFF_S)) - 1])
