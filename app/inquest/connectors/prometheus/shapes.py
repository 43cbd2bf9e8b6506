"""The data of Prometheus' API -> the shapes of `domain.signals`. Pure; `Drift` says what does not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from inquest.domain.signals import (
    FiringAlert,
    FiringAlerts,
    Matrix,
    Other,
    Rule,
    Rules,
    Sample,
    Series,
    SeriesNames,
    Vector,
)
from inquest.domain.value import Json, Labels, epoch_ms

_NUMBER_CHARS = frozenset("0123456789+-.eEINFinfaN")


class Drift(Exception):
    """The answer is JSON but not of the documented shape; `hint` is ours and names the place."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


class Unreadable(Exception):
    """A value that should be a number or a time cannot be read as one; `hint` is ours."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


# ---- values of queries ---------------------------------------------------------------------------------


def vector(data: Json, warnings: tuple[str, ...]) -> tuple[Vector | Other, bool]:
    """Read the answer of an instant query. The flag says that native histograms were left out."""
    kind, result = _result(data)
    if kind == "string":
        return Other(value=str(_pair(result)[1])), False
    if kind == "scalar":
        time, value = _pair(result)
        sample = Sample(labels={}, time=_moment(time), value=_finite(value))
        return Vector(samples=(sample,), non_finite=int(sample.value is None), warnings=warnings), False
    if kind != "vector":
        msg = "data.resultType"
        raise Drift(msg)
    rows = list(_rows(result, "data.result"))
    read = [row for row in rows if "value" in row]
    samples = [_sample(row) for row in read]
    missing = sum(1 for sample in samples if sample.value is None)
    return Vector(samples=tuple(samples), non_finite=missing, warnings=warnings), len(read) < len(rows)


def matrix(data: Json, step_ms: int, warnings: tuple[str, ...]) -> tuple[Matrix, bool]:
    """Read the answer of a range query. The flag says that native histograms were left out."""
    kind, result = _result(data)
    if kind != "matrix":
        msg = "data.resultType"
        raise Drift(msg)
    rows = list(_rows(result, "data.result"))
    series = [_series(row) for row in rows if "values" in row or "histograms" not in row]
    return Matrix(step_ms=step_ms, series=tuple(series), warnings=warnings), any("histograms" in row for row in rows)


def _series(row: dict[str, Json]) -> Series:
    values = row.get("values")
    if not isinstance(values, list):
        msg = "data.result.values"
        raise Drift(msg)
    points = tuple((_moment(time), _finite(value)) for time, value in map(_pair, values))
    missing = sum(1 for _, value in points if value is None)
    return Series(labels=labels(row.get("metric"), "data.result.metric"), points=points, non_finite=missing)


def _sample(row: dict[str, Json]) -> Sample:
    time, value = _pair(row["value"])
    return Sample(labels=labels(row.get("metric"), "data.result.metric"), time=_moment(time), value=_finite(value))


def _result(data: Json) -> tuple[str, Json]:
    if not isinstance(data, dict) or "resultType" not in data or "result" not in data:
        msg = "data.result"
        raise Drift(msg)
    return str(data["resultType"]), data["result"]


def _pair(found: Json) -> tuple[Json, Json]:
    match found:
        case [time, value]:
            return time, value
        case _:
            msg = "data.result.value"
            raise Drift(msg)


def _moment(found: Json) -> int:
    """Read seconds since 1970 as whole milliseconds."""
    if isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found):
        return round(found * 1000)
    msg = "a time of the answer is no number"
    raise Unreadable(msg)


def _finite(found: Json) -> float | None:
    """Read a sample; NaN and the infinities have no JSON form and become None."""
    if not isinstance(found, str) or not found or not _NUMBER_CHARS.issuperset(found):
        msg = "a value of the answer is no number in text"
        raise Unreadable(msg)
    try:
        value = float(found)
    except ValueError as error:
        msg = "a value of the answer is no number in text"
        raise Unreadable(msg) from error
    return value if math.isfinite(value) else None


# ---- names ---------------------------------------------------------------------------------------------


def label_sets(data: Json) -> SeriesNames:
    """Read the answer of /series."""
    return SeriesNames(series=tuple(labels(one, "data") for one in _listed(data, "data")))


def texts(data: Json) -> tuple[str, ...]:
    """Read the answer of /labels or /label/X/values."""
    found = _listed(data, "data")
    if not all(isinstance(one, str) for one in found):
        msg = "data"
        raise Drift(msg)
    return tuple(str(one) for one in found)


def metadata(data: Json) -> dict[str, str]:
    """Read the answer of /metadata: metric -> "type: help (unit)", the first where targets differ."""
    if not isinstance(data, dict):
        msg = "data"
        raise Drift(msg)
    about = {}
    for metric, found in data.items():
        first = next(_rows(found, "data"), {})
        unit = str(first.get("unit") or "")
        said = f"{first.get('type') or 'unknown'}: {first.get('help') or ''}".rstrip(": ")
        about[metric] = f"{said} ({unit})" if unit else said
    return about


def labels(found: Json, place: str) -> Labels:
    """Read a label set."""
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Drift(place)
    return {name: str(value) for name, value in found.items()}


# ---- rules and alerts ----------------------------------------------------------------------------------


def rules(data: Json) -> Rules:
    """Read the answer of /rules, all groups in order."""
    groups = data.get("groups") if isinstance(data, dict) else None
    read = [
        _rule(row, str(group.get("name", "")))
        for group in _rows(groups, "data.groups")
        for row in _rows(group.get("rules"), "data.groups.rules")
    ]
    return Rules(rules=tuple(read))


def _rule(row: dict[str, Json], group: str) -> Rule:
    if not isinstance(row.get("name"), str) or not isinstance(row.get("query"), str):
        msg = "data.groups.rules.name"
        raise Drift(msg)
    duration = row.get("duration", 0)
    return Rule(
        name=str(row["name"]),
        rule_type=str(row.get("type", "")),
        group=group,
        expression=str(row["query"]),
        duration_s=float(duration) if isinstance(duration, int | float) else 0.0,
        state=str(row.get("state", "")),
        labels=labels(row.get("labels") or {}, "data.groups.rules.labels"),
        annotations=labels(row.get("annotations") or {}, "data.groups.rules.annotations"),
    )


def alerts(data: Json) -> FiringAlerts:
    """Read the answer of /alerts."""
    found = data.get("alerts") if isinstance(data, dict) else None
    return FiringAlerts(alerts=tuple(_alert(row) for row in _rows(found, "data.alerts")))


def _alert(row: dict[str, Json]) -> FiringAlert:
    named = labels(row.get("labels"), "data.alerts.labels")
    return FiringAlert(
        name=named.get("alertname", ""),
        state=str(row.get("state", "")),
        labels=named,
        annotations=labels(row.get("annotations") or {}, "data.alerts.annotations"),
        active_at=_rfc3339(row.get("activeAt")),
        value=str(row.get("value", "")),
    )


def _rfc3339(found: Json) -> int | None:
    """Read a time such as 2026-11-30T15:16:56.707624592Z; None for Go's zero time and where there is none."""
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(str(found))
        return None if moment.year <= 1 or moment.tzinfo is None else epoch_ms(moment)
    except (ValueError, OverflowError) as error:
        msg = "a time of the answer cannot be read"
        raise Unreadable(msg) from error


# ---- pieces --------------------------------------------------------------------------------------------


def _listed(found: Json, place: str) -> list[Json]:
    if found is None:
        return []  # Go writes an empty slice as null
    if not isinstance(found, list):
        raise Drift(place)
    return found


def _rows(found: Json, place: str) -> Iterator[dict[str, Json]]:
    for row in _listed(found, place):
        if not isinstance(row, dict):
            raise Drift(place)
        yield row
