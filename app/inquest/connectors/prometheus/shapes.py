"""The data of Prometheus' API -> the shapes of `domain.signals`. Pure; `Drift` says what does not fit."""

from __future__ import annotations

from inquest.connectors.shared.reading import Drift, labels, listed, rfc3339_ms, rows, seconds, texts
from inquest.connectors.shared.series import finite, moment_ms, pair, result_of
from inquest.domain.signals import (
    FiringAlert,
    FiringAlerts,
    Other,
    Rule,
    Rules,
    Sample,
    SeriesNames,
    Vector,
)
from inquest.domain.value import Json

# ---- values of queries ---------------------------------------------------------------------------------


def vector(data: Json, warnings: tuple[str, ...]) -> tuple[Vector | Other, bool]:
    """Read the answer of an instant query. The flag says that native histograms were left out."""
    kind, result = result_of(data)
    if kind == "string":
        return Other(value=str(pair(result)[1])), False
    if kind == "scalar":
        time, value = pair(result)
        sample = Sample(labels={}, time=moment_ms(time), value=finite(value))
        return Vector(samples=(sample,), non_finite=int(sample.value is None), warnings=warnings), False
    if kind != "vector":
        msg = "data.resultType"
        raise Drift(msg)
    found = list(rows(result, "data.result"))
    read = [row for row in found if "value" in row]
    samples = [_sample(row) for row in read]
    missing = sum(1 for sample in samples if sample.value is None)
    return Vector(samples=tuple(samples), non_finite=missing, warnings=warnings), len(read) < len(found)


def _sample(row: dict[str, Json]) -> Sample:
    time, value = pair(row["value"])
    return Sample(labels=labels(row.get("metric"), "data.result.metric"), time=moment_ms(time), value=finite(value))


# ---- names ---------------------------------------------------------------------------------------------


def label_sets(data: Json) -> SeriesNames:
    """Read the answer of /series."""
    return SeriesNames(series=tuple(labels(one, "data") for one in listed(data, "data")))


def names(data: Json) -> tuple[str, ...]:
    """Read the answer of /labels or /label/X/values."""
    return texts(data, "data")


def metadata(data: Json) -> dict[str, str]:
    """Read the answer of /metadata: metric -> "type: help (unit)", the first where targets differ."""
    if not isinstance(data, dict):
        msg = "data"
        raise Drift(msg)
    about = {}
    for metric, found in data.items():
        first = next(rows(found, "data"), {})
        unit = str(first.get("unit") or "")
        said = f"{first.get('type') or 'unknown'}: {first.get('help') or ''}".rstrip(": ")
        about[metric] = f"{said} ({unit})" if unit else said
    return about


# ---- rules and alerts ----------------------------------------------------------------------------------


def rules(data: Json) -> Rules:
    """Read the answer of /rules, all groups in order."""
    groups = data.get("groups") if isinstance(data, dict) else None
    read = [
        _rule(row, str(group.get("name", "")))
        for group in rows(groups, "data.groups")
        for row in rows(group.get("rules"), "data.groups.rules")
    ]
    return Rules(rules=tuple(read))


def _rule(row: dict[str, Json], group: str) -> Rule:
    if not isinstance(row.get("name"), str) or not isinstance(row.get("query"), str):
        msg = "data.groups.rules.name"
        raise Drift(msg)
    return Rule(
        name=str(row["name"]),
        rule_type=str(row.get("type", "")),
        group=group,
        expression=str(row["query"]),
        duration_s=seconds(row.get("duration")),
        state=str(row.get("state", "")),
        labels=labels(row.get("labels") or {}, "data.groups.rules.labels"),
        annotations=labels(row.get("annotations") or {}, "data.groups.rules.annotations"),
    )


def alerts(data: Json) -> FiringAlerts:
    """Read the answer of /alerts."""
    found = data.get("alerts") if isinstance(data, dict) else None
    return FiringAlerts(alerts=tuple(_alert(row) for row in rows(found, "data.alerts")))


def _alert(row: dict[str, Json]) -> FiringAlert:
    named = labels(row.get("labels"), "data.alerts.labels")
    return FiringAlert(
        name=named.get("alertname", ""),
        state=str(row.get("state", "")),
        labels=named,
        annotations=labels(row.get("annotations") or {}, "data.alerts.annotations"),
        active_at=rfc3339_ms(row.get("activeAt")),
        value=str(row.get("value", "")),
    )
