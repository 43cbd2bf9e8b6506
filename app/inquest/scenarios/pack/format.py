"""A recorded incident in memory, and the values of scenario.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from inquest.domain.diagnosis import CAUSE_FAMILIES, Verdict
from inquest.domain.observation import Signal
from inquest.domain.value import Instant, Labels, Value
from inquest.scenarios.loki.lines import Stream
from inquest.scenarios.pack.changes import Changes
from inquest.scenarios.pack.rules import RuleGroup
from inquest.scenarios.promql.samples import Series

VERSION: Final = 1
SCENARIO_FILE = "scenario.yaml"
ALERT_FILE = "alert.json"
RULES_FILE = "rules.yml"
METRICS_FILE = "metrics.om"
LOGS_FILE = "logs.jsonl"
CHANGES_FILE = "changes.json"

ServerName = Literal["prometheus", "loki", "gitlab"]


class RedHerring(Value):
    """Something that looks like a cause and is none. `at` is when it happened."""

    what: str
    why_not: str
    at: Instant


class Truth(Value):
    """What really happened, as far as it can be found out; the served APIs never show it.

    `category` is "family.cause"; `also_accepted` are categories that are right too, "family.*" for any
    cause of a family. `affected_object` is kind/namespace/name of the culprit. `culprit_change` is the change
    that did it as the source names it (`group/project!7`), "" when no change did. `missing` are the kinds of
    signal that a diagnosis must name as missing. `onset` is None exactly when nothing was wrong.
    """

    verdict: Verdict
    root_cause: str
    category: str
    also_accepted: tuple[str, ...] = ()
    affected_object: str = ""
    onset: Instant | None = None
    culprit_change: str = ""
    missing: tuple[Signal, ...] = ()
    victims: tuple[str, ...] = ()
    red_herrings: tuple[RedHerring, ...] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for category in (self.category, *self.also_accepted):
            family, dot, cause = category.partition(".")
            if family not in (*CAUSE_FAMILIES, "other") or not dot or not cause:
                msg = f"{category} is not family.cause of a known family"
                raise ValueError(msg)
        if (self.onset is None) is not (self.verdict is Verdict.HEALTHY):
            msg = "an onset is there exactly when the verdict is not healthy"
            raise ValueError(msg)
        return self

    def accepts(self, category: str) -> bool:
        """Say whether `category` names the cause."""
        family = category.partition(".")[0]
        return category in (self.category, *self.also_accepted) or f"{family}.*" in self.also_accepted


class Clock(Value):
    """`anchor`: when the alert began to fire. `ends_at`: the present of the recording, at or after it.

    Samples, lines and changes after `ends_at` are the recording's future: a running server shows them as
    its clock reaches them.
    """

    anchor: Instant
    ends_at: Instant

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.ends_at < self.anchor:
            msg = "ends_at is not before anchor"
            raise ValueError(msg)
        return self


class CatalogueEntry(Value):
    """What the operator's service catalogue says about a service. `match`: the labels that select it everywhere."""

    name: str
    match: Labels
    namespace: str = ""
    workload: str = ""
    repository: str = ""
    depends_on: tuple[str, ...] = ()


class Header(Value):
    """The content of scenario.yaml. `unreachable` are the servers that answer every request with 503."""

    version: Literal[1]
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str
    summary: str = ""
    intake: str = "alertmanager"
    clock: Clock
    scrape_interval_seconds: int = Field(gt=0)
    services: tuple[CatalogueEntry, ...] = ()
    unreachable: tuple[ServerName, ...] = ()
    truth: Truth


@dataclass(frozen=True, slots=True)
class MetricMetadata:
    """What the exposition says about one metric."""

    type: str
    help: str
    unit: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole recorded incident. `alert` is the body exactly as its sender sends it."""

    header: Header
    alert: bytes
    groups: tuple[RuleGroup, ...]
    series: tuple[Series, ...]
    metadata: dict[str, MetricMetadata]
    streams: tuple[Stream, ...]
    changes: Changes

    @property
    def anchor(self) -> datetime:
        """When the alert began to fire."""
        return self.header.clock.anchor

    @property
    def ends_at(self) -> datetime:
        """The present of the recording."""
        return self.header.clock.ends_at
