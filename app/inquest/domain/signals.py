"""The normalised shapes of evidence content, by `kind`: what connectors write and analysis reads.

Times are epoch milliseconds UTC (integers, so that digests are exact). A sample that is not finite (NaN,
+Inf, -Inf) is null in `points` and counted in `non_finite`. All text is redacted and sanitised.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from inquest.domain.value import Json, Labels, Value

Point = tuple[int, float | None]


class Series(Value):
    """One series of a range query; points in time order."""

    labels: Labels
    points: tuple[Point, ...]
    non_finite: int = 0


class Matrix(Value):
    """A range query's answer. `step_ms` is the distance of its points."""

    kind: Literal["matrix"] = "matrix"
    step_ms: int
    series: tuple[Series, ...]
    warnings: tuple[str, ...] = ()


class Sample(Value):
    """One series at one moment."""

    labels: Labels
    time: int
    value: float | None


class Vector(Value):
    """An instant query's answer."""

    kind: Literal["vector"] = "vector"
    samples: tuple[Sample, ...]
    non_finite: int = 0
    warnings: tuple[str, ...] = ()


class LogLine(Value):
    """One line; `time` in ms, `time_ns` as the source's own decimal string (ties are real)."""

    time: int
    time_ns: str
    labels: Labels
    line: str


class Logs(Value):
    """Log lines in time order. `lossy` says that some bytes were not UTF-8 and were replaced."""

    kind: Literal["logs"] = "logs"
    lines: tuple[LogLine, ...]
    lossy: bool = False


class ChangeRecord(Value):
    """One deployment, merge, commit or configuration change. `finished` is None while it runs."""

    change: Literal["deployment", "merge_request", "commit", "config", "scaling", "node"]
    change_id: str
    title: str
    author: str
    time: int
    finished: int | None = None
    status: str = ""
    environment: str = ""
    service: str = ""
    revision: str = ""
    url: str = ""
    detail: str = ""


class Changes(Value):
    """Changes in time order."""

    kind: Literal["changes"] = "changes"
    changes: tuple[ChangeRecord, ...]


class FiringAlert(Value):
    """One alert that fires or is pending at the source."""

    name: str
    state: str
    labels: Labels
    annotations: Labels
    active_at: int | None
    value: str = ""


class FiringAlerts(Value):
    """The alerts of a source now."""

    kind: Literal["alerts"] = "alerts"
    alerts: tuple[FiringAlert, ...]


class Rule(Value):
    """One alerting or recording rule, with its expression."""

    name: str
    rule_type: str
    group: str
    expression: str
    duration_s: float
    state: str
    labels: Labels
    annotations: Labels


class Rules(Value):
    """Rules of a source."""

    kind: Literal["rules"] = "rules"
    rules: tuple[Rule, ...]


class SeriesNames(Value):
    """Label sets that exist in the window."""

    kind: Literal["series"] = "series"
    series: tuple[Labels, ...]


class Names(Value):
    """Label names or values, or metric names with what is known of them ("" where nothing is)."""

    kind: Literal["names"] = "names"
    names: tuple[str, ...]
    about: Labels = Field(default_factory=dict)


class Volume(Value):
    """What a log query would touch, before it is run."""

    kind: Literal["volume"] = "volume"
    streams: int
    entries: int
    bytes: int


class Other(Value):
    """Anything else, as JSON."""

    kind: Literal["other"] = "other"
    value: Json


SignalContent = Annotated[
    Matrix | Vector | Logs | Changes | FiringAlerts | Rules | SeriesNames | Names | Volume | Other,
    Field(discriminator="kind"),
]
signal_content: TypeAdapter[SignalContent] = TypeAdapter(SignalContent)
"""Reads the full content of an observation: `signal_content.validate_json(stored_bytes)`."""
