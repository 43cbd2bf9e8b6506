"""Units: a claim may use one only when the observation carries it; nothing is ever converted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inquest.domain.evidence import EvidenceItem
    from inquest.stages.pointer import Place

UNITS: dict[str, frozenset[str]] = {
    "seconds": frozenset({"s", "sec", "secs", "second", "seconds"}),
    "milliseconds": frozenset({"ms", "msec", "millisecond", "milliseconds"}),
    "microseconds": frozenset({"us", "µs", "microsecond", "microseconds"}),
    "nanoseconds": frozenset({"ns", "nanosecond", "nanoseconds"}),
    "minutes": frozenset({"m", "min", "mins", "minute", "minutes"}),
    "hours": frozenset({"h", "hour", "hours"}),
    "days": frozenset({"d", "day", "days"}),
    "bytes": frozenset({"b", "byte", "bytes"}),
    "kilobytes": frozenset({"kb", "kilobyte", "kilobytes"}),
    "megabytes": frozenset({"mb", "megabyte", "megabytes"}),
    "gigabytes": frozenset({"gb", "gigabyte", "gigabytes"}),
    "kibibytes": frozenset({"kib", "kibibyte", "kibibytes"}),
    "mebibytes": frozenset({"mib", "mebibyte", "mebibytes"}),
    "gibibytes": frozenset({"gib", "gibibyte", "gibibytes"}),
    "percent": frozenset({"%", "percent", "pct"}),
    "ratio": frozenset({"ratio"}),
    "cores": frozenset({"core", "cores"}),
    "celsius": frozenset({"celsius", "°c"}),
    "volts": frozenset({"v", "volt", "volts"}),
    "amperes": frozenset({"a", "ampere", "amperes"}),
    "joules": frozenset({"j", "joule", "joules"}),
    "per second": frozenset({"/s", "rps", "qps", "req/s", "requests/s", "ops/s", "per second", "persecond"}),
}
"""What may be written for each unit, in lower case. The long names are those of the Prometheus conventions."""

_CANONICAL = {word: unit for unit, words in UNITS.items() for word in words}
_LONG_WORDS = {word: unit for word, unit in _CANONICAL.items() if len(word) > 1 and word.isalpha()}
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:.]*")
_STRINGS_AND_RANGES = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]')
_RATE = re.compile(r"\b(?:i?rate|deriv|per_second)\s*\(")
_COUNTS = ("_count", "_bucket", "_total", "_created")
"""The last part of a counter's name says what it counts in, unless it is one of these: then it counts events."""


def canonical_unit(text: str) -> str | None:
    """Give the unit that `text` writes, None when it is none we know."""
    return _CANONICAL.get(text.strip().lower())


def carries(carried: frozenset[str], unit: str) -> bool:
    """Say whether `unit` is written for one of the `carried` units."""
    return canonical_unit(unit) in carried or unit.strip().lower() in carried


def carried_units(item: EvidenceItem, place: Place) -> frozenset[str]:
    """Give the units that an observation carries for the cited place.

    They come from a `unit` label or field, and from the names of the metrics read, as in
    `http_request_duration_seconds`; a name that ends in `_count` counts events, not its unit.
    """
    record = place.series or place.record or {}
    labels = record.get("labels")
    named = labels if isinstance(labels, dict) else {}
    said = [str(holder["unit"]) for holder in (record, named) if holder.get("unit")]
    metric = str(named.get("__name__", ""))
    expression = item.observation.expression
    names = [metric] if metric else _NAME.findall(_STRINGS_AND_RANGES.sub(" ", expression))
    quantile = "histogram_quantile" in expression
    found = {unit for name in names for unit in _units_of_name(name, quantile=quantile)}
    found |= {canonical_unit(text) or text.strip().lower() for text in said}
    if _RATE.search(expression):
        found.add("per second")
    return frozenset(found)


def _units_of_name(name: str, *, quantile: bool) -> set[str]:
    stem = name
    if name.endswith("_bucket") and quantile:
        stem = name.removesuffix("_bucket")
    elif name.endswith("_total"):
        stem = name.removesuffix("_total")
    elif name.endswith(_COUNTS):
        return set()
    return {_LONG_WORDS[part] for part in stem.lower().split("_") if part in _LONG_WORDS}
