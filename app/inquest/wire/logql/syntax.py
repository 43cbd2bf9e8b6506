"""The tree of an expression. Strings are what they mean, without quotes and escapes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from inquest.wire.matching import Matcher

SELECTS = ("=", "!=", "=~", "!~")
"""Operators of a matcher in a stream selector; =~ and !~ match the whole value (RE2)."""
KEEPS = ("|=", "!=", "|~", "!~")
"""Operators of a line filter; |~ and !~ match anywhere in the line (RE2)."""
COMPARES_TEXT = ("=", "!=", "=~", "!~")
COMPARES_QUANTITY = ("==", "=", "!=", ">", ">=", "<", "<=")
"""Operators of a label filter, by what stands on their right."""
PARSERS = ("json", "logfmt")
COUNTS = ("count_over_time", "rate", "bytes_over_time", "bytes_rate")
"""Functions from the lines of a range to a number for each stream."""
SUMMARISES = ("sum", "avg", "min", "max", "count")
KEEPS_MOST = ("topk", "bottomk")
"""Functions over the numbers of many streams; those that keep most take how many."""
NOT_TAKEN = frozenset({
    "unwrap", "label_format", "drop", "keep", "pattern", "regexp", "unpack", "decolorize", "distinct", "ip", "offset",
    "sum_over_time", "avg_over_time", "max_over_time", "min_over_time", "first_over_time", "last_over_time",
    "stddev_over_time", "stdvar_over_time", "quantile_over_time", "absent_over_time", "rate_counter", "label_replace",
    "vector", "sort", "sort_desc", "stddev", "stdvar", "approx_topk", "on", "ignoring", "bool", "unless",
})  # fmt: skip
"""Words of LogQL outside the part that is taken: refused by name."""
KEYWORDS = frozenset({*PARSERS, "line_format", *NOT_TAKEN, "and", "or", "by", "without"})
"""Words that are no label names in a label filter."""


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Keep the lines with, or without, a text or a pattern."""

    operator: str
    text: str


@dataclass(frozen=True, slots=True)
class Parser:
    """Make labels of the fields of a line: `| json` or `| logfmt`."""

    form: str


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Write the line anew from its labels."""

    template: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, a duration or a size, as it was written: 500, 1.5s, 10MB."""

    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """One condition on a label."""

    name: str
    operator: str
    value: str | Quantity


@dataclass(frozen=True, slots=True)
class Every:
    """All of at least two conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of at least two conditions."""

    parts: tuple[Condition, ...]


Condition = Comparison | Every | Some
Stage = LineFilter | Parser | LineFormat | Comparison | Every | Some


@dataclass(frozen=True, slots=True)
class LogQuery:
    """The lines of the selected streams that pass every stage."""

    matchers: tuple[Matcher, ...]
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class Count:
    """A function of COUNTS over the lines of (t - range, t], for each stream."""

    function: str
    query: LogQuery
    range: timedelta


@dataclass(frozen=True, slots=True)
class Grouping:
    """by (labels), or without (labels)."""

    without: bool
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A function of SUMMARISES or KEEPS_MOST over what `operand` gives. `most` is the k of topk and bottomk."""

    function: str
    operand: MetricQuery
    grouping: Grouping | None = None
    most: int | None = None


MetricQuery = Count | Summary
Expression = LogQuery | Count | Summary


def log_query_of(tree: Expression) -> LogQuery:
    """Give the log query that `tree` reads: there is exactly one."""
    while not isinstance(tree, LogQuery):
        tree = tree.operand if isinstance(tree, Summary) else tree.query
    return tree


def reach_of(tree: Expression) -> timedelta:
    """Give how far before its evaluation time `tree` looks: nothing for log lines."""
    while isinstance(tree, Summary):
        tree = tree.operand
    return tree.range if isinstance(tree, Count) else timedelta()
