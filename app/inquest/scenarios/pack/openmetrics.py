"""OpenMetrics text with times: the part that a recording needs, read with line numbers."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from inquest.errors import ConfigurationError
from inquest.scenarios import bounds
from inquest.scenarios.pack.format import MetricMetadata
from inquest.scenarios.promql.samples import NAME, Labels, Series, labels_of, stale_times

TYPES = ("counter", "gauge", "histogram", "summary", "unknown")
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+) (-?\d{1,12})(?:\.(\d{1,3}))?")
_COMMENT = re.compile(r"# (TYPE|HELP|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*)(?: (.*))?")
_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
_NUMBERS = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}


@dataclass(slots=True)
class _Family:
    type: str = "unknown"
    help: str = ""
    unit: str = ""


@dataclass(slots=True)
class _Reading:
    """What has been read so far of the file called `name`."""

    name: str
    line: int = 0
    families: dict[str, _Family] = field(default_factory=dict)
    times: dict[Labels, array[int]] = field(default_factory=dict)
    values: dict[Labels, array[float]] = field(default_factory=dict)
    labels: dict[str, Labels] = field(default_factory=dict)  # by the text before the value: it repeats

    def refuse(self, reason: str) -> ConfigurationError:
        return ConfigurationError(f"{self.name}:{self.line}: {reason}")


def read(lines: Iterable[str], name: str, *, interval_ms: int) -> tuple[tuple[Series, ...], dict[str, MetricMetadata]]:
    """Read series and metadata from `lines` of the file called `name`.

    A series that stops is marked stale as of the next scrape (`interval_ms`). Raises ConfigurationError
    naming file and line.
    """
    reading = _Reading(name)
    ended = False
    for reading.line, line in enumerate(lines, start=1):
        text = line.removesuffix("\n").removesuffix("\r")
        if ended:
            raise reading.refuse("there is text after # EOF")
        if text == "# EOF":
            ended = True
        elif text.startswith("#"):
            _read_comment(reading, text)
        else:
            _read_sample(reading, text)
    if not ended:
        reading.line += 1
        raise reading.refuse("the last line must be # EOF")
    return tuple(_series(reading, interval_ms)), _metadata(reading)


def _read_comment(reading: _Reading, text: str) -> None:
    found = _COMMENT.fullmatch(text)
    if found is None:
        raise reading.refuse("a comment must be # TYPE, # HELP, # UNIT or # EOF")
    kind, metric, rest = found.groups(default="")
    family = reading.families.setdefault(metric, _Family())
    match kind:
        case "TYPE":
            if rest not in TYPES:
                raise reading.refuse(f"the type {rest} is not one of {', '.join(TYPES)}")
            family.type = rest
        case "HELP":
            family.help = _unescaped(rest)
        case _:
            family.unit = rest


def _read_sample(reading: _Reading, text: str) -> None:
    found = _SAMPLE.fullmatch(text)
    if found is None:
        raise reading.refuse('expected NAME{label="value"} VALUE TIME, the time in seconds')
    metric, inside, number, seconds, fraction = found.groups()
    key = metric + (inside or "")
    labels = reading.labels.get(key)
    if labels is None:
        labels = reading.labels[key] = _labels(reading, metric, inside or "{}")
        if len(reading.labels) > bounds.MAX_SERIES:
            raise reading.refuse(f"more than {bounds.MAX_SERIES} series")
        reading.times.setdefault(labels, array("q"))
        reading.values.setdefault(labels, array("d"))
    whole = int(seconds) * 1000
    thousandths = int((fraction or "0").ljust(3, "0"))
    time = whole - thousandths if seconds.startswith("-") else whole + thousandths
    times = reading.times[labels]
    if times and time <= times[-1]:
        raise reading.refuse("the times of a series must ascend")
    times.append(time)
    reading.values[labels].append(_number(reading, number))


def _labels(reading: _Reading, metric: str, inside: str) -> Labels:
    pairs, at, text = {NAME: metric}, 0, inside[1:-1]
    while at < len(text):
        found = _PAIR.match(text, at)
        if found is None:
            raise reading.refuse(f"unreadable labels {inside}")
        if found.group(1) in pairs:
            raise reading.refuse(f"the label {found.group(1)} is there twice")
        pairs[found.group(1)] = _unescaped(found.group(2))
        at = found.end()
    return labels_of(pairs)


def _number(reading: _Reading, text: str) -> float:
    if text in _NUMBERS:
        return _NUMBERS[text]
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:
        raise reading.refuse(f"{text} is not a number")
    return number


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found.group(1) == "n" else found.group(1), text)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _series(reading: _Reading, interval_ms: int) -> Iterator[Series]:
    end = max((times[-1] for times in reading.times.values()), default=0)
    for labels, times in sorted(reading.times.items()):
        yield Series(labels, times, reading.values[labels], stale_times(times, interval_ms, end))


def _metadata(reading: _Reading) -> dict[str, MetricMetadata]:
    """Name counters as their samples are named, which is how most exporters declare them."""
    return {
        f"{name}_total" if family.type == "counter" else name: MetricMetadata(family.type, family.help, family.unit)
        for name, family in sorted(reading.families.items())
    }


def write(series: Iterable[Series], metadata: dict[str, MetricMetadata]) -> Iterator[str]:
    """Give the lines, newline included, that `read` turns back into `series` and `metadata`."""
    open_family = ""
    for one in sorted(series, key=lambda item: (_family_of(dict(item.labels)[NAME], metadata), item.labels)):
        name = dict(one.labels)[NAME]
        family = _family_of(name, metadata)
        if family != open_family:
            open_family = family
            yield from _comments(family, metadata)
        inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in one.labels if key != NAME)
        for time, value in zip(one.times, one.values, strict=True):
            yield f"{name}{{{inside}}} {_written(value)} {_seconds(time)}\n"
    yield "# EOF\n"


def _family_of(name: str, metadata: dict[str, MetricMetadata]) -> str:
    if name in metadata:
        return name
    stem = re.sub(r"_(bucket|sum|count)$", "", name)
    return stem if stem in metadata else name


def _comments(family: str, metadata: dict[str, MetricMetadata]) -> Iterator[str]:
    described = metadata.get(family)
    if described is None:
        return
    name = family.removesuffix("_total") if described.type == "counter" else family
    yield f"# TYPE {name} {described.type}\n"
    if described.unit:
        yield f"# UNIT {name} {described.unit}\n"
    if described.help:
        yield f"# HELP {name} {_escaped(described.help)}\n"


def _written(value: float) -> str:
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _seconds(ms: int) -> str:
    sign, (whole, rest) = "-" if ms < 0 else "", divmod(abs(ms), 1000)
    return f"{sign}{whole}.{rest:03d}"
