"""Series as Prometheus' API writes them, and Loki's too. Pure; raises Drift and Unreadable."""

from __future__ import annotations

import math

from inquest.connectors.shared.reading import MAX_SECONDS, Drift, Unreadable, labels, rows
from inquest.domain.signals import Matrix, Series
from inquest.domain.value import Json

_NUMBER_CHARS = frozenset("0123456789+-.eEINFinfaN")


def matrix(data: Json, step_ms: int, warnings: tuple[str, ...]) -> tuple[Matrix, bool]:
    """Read the answer of a range query. The flag says that native histograms were left out."""
    kind, result = result_of(data)
    if kind != "matrix":
        msg = "data.resultType"
        raise Drift(msg)
    found = list(rows(result, "data.result"))
    series = [_series(row) for row in found if "values" in row or "histograms" not in row]
    return Matrix(step_ms=step_ms, series=tuple(series), warnings=warnings), any("histograms" in row for row in found)


def _series(row: dict[str, Json]) -> Series:
    values = row.get("values")
    if not isinstance(values, list):
        msg = "data.result.values"
        raise Drift(msg)
    points = tuple((moment_ms(time), finite(value)) for time, value in map(pair, values))
    missing = sum(1 for _, value in points if value is None)
    return Series(labels=labels(row.get("metric"), "data.result.metric"), points=points, non_finite=missing)


def result_of(data: Json) -> tuple[str, Json]:
    """Take the type of a result and the result."""
    if not isinstance(data, dict) or "resultType" not in data or "result" not in data:
        msg = "data.result"
        raise Drift(msg)
    return str(data["resultType"]), data["result"]


def pair(found: Json) -> tuple[Json, Json]:
    """Take a sample: its time and its value."""
    match found:
        case [time, value]:
            return time, value
        case _:
            msg = "data.result.value"
            raise Drift(msg)


def moment_ms(found: Json) -> int:
    """Read seconds since 1970 as whole milliseconds, up to the year 9999."""
    if isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= MAX_SECONDS:
        return round(found * 1000)
    msg = "a time of the answer is no number"
    raise Unreadable(msg)


def finite(found: Json) -> float | None:
    """Read a sample's value; NaN and the infinities have no JSON form and become None."""
    if not isinstance(found, str) or not found or not _NUMBER_CHARS.issuperset(found):
        msg = "a value of the answer is no number in text"
        raise Unreadable(msg)
    try:
        value = float(found)
    except ValueError as error:
        msg = "a value of the answer is no number in text"
        raise Unreadable(msg) from error
    return value if math.isfinite(value) else None
