"""Changes that may be the cause: shortly before the onset, and of the service itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquest.domain.signals import ChangeRecord

REACH_MS = 60 * 60 * 1000
"""A change takes effect within an hour, or it is not looked at first (engineering judgement)."""
KIND_WEIGHT = {"deployment": 1.0, "config": 1.0, "scaling": 0.8, "node": 0.7, "merge_request": 0.5, "commit": 0.3}
"""What runs weighs more than what was only merged."""
OWN_WEIGHT = 1.0
DEPENDENCY_WEIGHT = 0.5
FOREIGN_WEIGHT = 0.15
"""A change of something that neither is the service nor is known to serve it."""
FAILED_STATES = frozenset({
    "failed", "canceled", "cancelled", "skipped", "blocked", "created", "opened", "closed", "locked",
})  # fmt: skip
"""Of a deployment that failed or never ran, and of a merge request that is not merged."""
RUNS = frozenset({"deployment", "config", "scaling", "node"})
"""What acts by itself. A merge or a commit acts only once something that carries it runs."""
SETTLED_MS = 15 * 60 * 1000
"""What begins after so long a calm is not connected with a change by its time (engineering judgement)."""
MAX_BY_CHANCE = 0.25
"""Where more of the time than this lies as near after a change, being near after one tells nothing (engineering
judgement): twelve deployments in two hours are before everything."""
LIKELY = 0.5
"""From this score on a change is worth blaming when the rest agrees."""


class Suspect(NamedTuple):
    """A change with its score in [0, 1] and how long before the onset it took effect."""

    change: ChangeRecord
    score: float
    before_ms: int
    is_own: bool


def suspects(
    changes: Iterable[ChangeRecord], *, onset_ms: int, service: str, depends_on: Iterable[str] = (), slack_ms: int = 0
) -> tuple[Suspect, ...]:
    """Rank the changes that took effect in the hour before `onset_ms`, most suspect first.

    `slack_ms` is the distance of the samples in which the onset was seen: a change within it may be
    before. A change that failed or never ran is left out, and so is one after the onset: a cause precedes.
    """
    known = {name: OWN_WEIGHT for name in (service,) if name} | dict.fromkeys(depends_on, DEPENDENCY_WEIGHT)
    found: list[Suspect] = []
    for change in changes:
        took_effect = took_effect_ms(change)
        before = onset_ms - took_effect
        if change.status.lower() in FAILED_STATES or not -slack_ms <= before <= REACH_MS:
            continue
        weight = max((known[name] for name in known if belongs_to(change, name)), default=FOREIGN_WEIGHT)
        nearness = 1.0 - 0.5 * max(before, 0) / REACH_MS
        score = KIND_WEIGHT.get(change.change, 0.3) * weight * nearness
        found.append(Suspect(change, round(score, 3), before, belongs_to(change, service)))
    return tuple(sorted(found, key=lambda one: (-one.score, one.before_ms, one.change.change_id)))


def has_run(change: ChangeRecord) -> bool:
    """Say whether a change acts by itself, and did."""
    return change.change in RUNS and change.status.lower() not in FAILED_STATES


def follows(moved_at: int, change: ChangeRecord, others: Iterable[ChangeRecord], since_ms: int) -> bool:
    """Say whether what moved at `moved_at` came so soon after `change` that the order is hardly chance.

    `others` are all changes of the same thing since `since_ms`, itself among them.
    """
    calm = moved_at - _ended_ms(change, moved_at)
    return calm <= SETTLED_MS and _share_as_near(others, max(calm, 0), since_ms, moved_at) <= MAX_BY_CHANCE


def _ended_ms(change: ChangeRecord, moved_at: int) -> int:
    """Give when a change was through, `moved_at` where it was under way then."""
    began, ended = change.time, change.finished
    return began if ended is None else max(began, min(ended, moved_at))


def _share_as_near(changes: Iterable[ChangeRecord], near_ms: int, since_ms: int, until_ms: int) -> float:
    """Give the share of the time in which the last of `changes` was no longer ago than `near_ms`."""
    covered, reached = 0, since_ms
    for change in sorted(changes, key=lambda one: one.time):
        start = max(took_effect_ms(change), reached)
        reached = max(reached, min(_ended_ms(change, until_ms) + near_ms, until_ms))
        covered += max(reached - start, 0)
    return covered / (until_ms - since_ms) if until_ms > since_ms else 0.0


def took_effect_ms(change: ChangeRecord) -> int:
    """Give when a change began to act: a deployment at its start, for the first new pod serves before the last."""
    return change.time


def belongs_to(change: ChangeRecord, service: str) -> bool:
    """Say whether `change` is one of `service`: by name, or as the last part of its project's path."""
    return bool(service) and service in {change.service, change.service.rsplit("/", 1)[-1]}
