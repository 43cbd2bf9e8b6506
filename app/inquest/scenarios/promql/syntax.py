"""The subset as a closed tree. What the parser accepts and this cannot hold is `Unsupported`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from inquest.wire.patterns import Pattern


class Match(StrEnum):
    """How a label matcher compares."""

    EQUAL = "="
    NOT_EQUAL = "!="
    SPANS = "=~"
    NOT_SPANS = "!~"


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label. `pattern` is set for the two regular-expression kinds."""

    label: str
    match: Match
    value: str
    pattern: Pattern | None = None

    def accepts(self, value: str) -> bool:
        """Say whether a label with `value` passes; an absent label has the value ""."""
        if self.pattern is None:
            return (value == self.value) is (self.match is Match.EQUAL)
        return self.pattern.spans(value) is (self.match is Match.SPANS)


class RangeFunction(StrEnum):
    """A function of the samples in a window, one series at a time."""

    RATE = "rate"
    INCREASE = "increase"
    DELTA = "delta"
    IRATE = "irate"
    AVG = "avg_over_time"
    MIN = "min_over_time"
    MAX = "max_over_time"
    SUM = "sum_over_time"
    COUNT = "count_over_time"
    LAST = "last_over_time"
    PRESENT = "present_over_time"
    STDDEV = "stddev_over_time"
    STDVAR = "stdvar_over_time"


class Aggregation(StrEnum):
    """An operator over the series of a group."""

    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COUNT = "count"


class Arithmetic(StrEnum):
    """An operator that gives a number."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"
    POWER = "^"


class Comparison(StrEnum):
    """An operator that filters, or with `bool` gives 0 or 1."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    GREATER = ">"
    LESS = "<"
    GREATER_OR_EQUAL = ">="
    LESS_OR_EQUAL = "<="


@dataclass(frozen=True, slots=True)
class Number:
    """A literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Selector:
    """The series that pass all `matchers`, as they were `offset_ms` earlier (later when negative)."""

    matchers: tuple[Matcher, ...]
    offset_ms: int


@dataclass(frozen=True, slots=True)
class Window:
    """The samples of the last `range_ms` of each selected series."""

    selector: Selector
    range_ms: int


@dataclass(frozen=True, slots=True)
class OverWindow:
    """A range function of a window."""

    function: RangeFunction
    window: Window


@dataclass(frozen=True, slots=True)
class HistogramQuantile:
    """The `quantile` (a scalar) of cumulative buckets (a vector with `le`)."""

    quantile: Expression
    buckets: Expression


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`operation` over the groups that agree on `labels`, or on all but `labels` when `without`."""

    operation: Aggregation
    operand: Expression
    labels: tuple[str, ...]
    without: bool


@dataclass(frozen=True, slots=True)
class Matching:
    """Which labels pair the series of two vectors: only `labels` (on), or all but `labels` (ignoring)."""

    labels: tuple[str, ...]
    only: bool


@dataclass(frozen=True, slots=True)
class Binary:
    """`left operator right`; two vectors are paired one to one by `matching`."""

    operator: Arithmetic | Comparison
    left: Expression
    right: Expression
    returns_bool: bool
    matching: Matching


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: Expression


Expression = Number | Selector | Window | OverWindow | HistogramQuantile | Aggregate | Binary | Negative
