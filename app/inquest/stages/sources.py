"""Which evidence is independent: two queries to one log stream are one source.

Alerts and rules are none: they say again what opened the investigation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.analysis.metric_names import metric_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquest.domain.observation import Observation, Signal
    from inquest.domain.value import Json
    from inquest.stages.exhibits import Cited

NOT_A_SOURCE: frozenset[Signal] = frozenset({"alerts", "rules", "names", "derived"})
STREAM_LABELS = ("service", "app", "application", "deployment", "workload", "job")
"""Whose log it is: the first of these labels. Levels, pods and hosts do not make another witness of a service."""
INSTRUMENT_SUFFIXES = ("_bucket", "_count", "_sum", "_created")
"""Series of one histogram or summary are one instrument."""

Source = frozenset[tuple[str, ...]]
"""The marks of a source. Two pieces of evidence that share a mark come from one."""


def independent_sources(cited: Iterable[Cited]) -> int:
    """Count the groups of cited places that share no mark, directly or through others."""
    groups: list[set[tuple[str, ...]]] = []
    for one in cited:
        marks = set(source_of(one))
        if not marks:
            continue
        apart = []
        for group in groups:
            if group & marks:
                marks |= group
            else:
                apart.append(group)
        groups = [*apart, marks]
    return len(groups)


def integrations_of(observations: Iterable[Observation]) -> frozenset[str]:
    """Name the integrations through which evidence came that is a source of its own."""
    return frozenset(one.source for one in observations if one.signal not in NOT_A_SOURCE)


def source_of(cited: Cited) -> Source:
    """Give the marks of a cited place; empty for what is no source of its own.

    Logs: whose log it is. Metrics: each instrument that was read. Else: the integration's
    signal, so that two change records of one GitLab are one source.
    """
    observation = cited.item.observation
    match observation.signal:
        case signal if signal in NOT_A_SOURCE:
            return frozenset()
        case "logs":
            return frozenset({(observation.source, "logs", *_stream(cited))})
        case "metrics":
            names = _metrics(cited) or frozenset({""})
            return frozenset((observation.source, "metrics", name) for name in names)
        case signal:
            return frozenset({(observation.source, signal)})


def _stream(cited: Cited) -> tuple[str, ...]:
    record = cited.place.record or {}
    labels = record.get("labels")
    if not isinstance(labels, dict):
        return ()
    whose = next((f"{name}={labels[name]}" for name in STREAM_LABELS if labels.get(name)), "")
    return (whose, str(labels.get("namespace", "")))


def _metrics(cited: Cited) -> frozenset[str]:
    named = _metric_label(cited.place.series or cited.place.record)
    names = frozenset({named}) if named else metric_names(cited.item.observation.expression)
    return frozenset(_instrument(name) for name in names)


def _instrument(name: str) -> str:
    suffix = next((suffix for suffix in INSTRUMENT_SUFFIXES if name.endswith(suffix)), "")
    return name.removesuffix(suffix)


def _metric_label(series: dict[str, Json] | None) -> str:
    labels = (series or {}).get("labels")
    found = labels.get("__name__") if isinstance(labels, dict) else None
    return found if isinstance(found, str) else ""
