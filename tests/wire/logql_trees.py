"""Trees of LogQL, for property tests."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from inquest.wire.logql.syntax import (
    COUNTS,
    KEEPS_MOST,
    SUMMARISES,
    Comparison,
    Condition,
    Count,
    Every,
    Expression,
    Grouping,
    LineFilter,
    LineFormat,
    LogQuery,
    MetricQuery,
    Parser,
    Quantity,
    Some,
    Stage,
    Summary,
)
from inquest.wire.matching import Matcher

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.sampled_from(["app", "namespace", "_a9", "level", "__error__", "Status", "sum", "rate"])
GROUPED = st.sampled_from(["app", "pod", "json", "by", "without", "sum"])
PATTERNS = st.sampled_from(
    ["a|b", "web-.+", "(?i)err", "[a-z]+x", "\\d+-z", "a{2,3}", "(a-[0-9]+)*b", "^x$", "\\Qa.b\\E", '"x"']
)
QUANTITIES = st.sampled_from(["0", "500", "1.5", "1e3", "5m", "1.5s", "1h30m", "10ms", "10MB", "5KiB", "1b"])
RANGES = st.sampled_from([timedelta(minutes=5), timedelta(hours=1, minutes=30), timedelta(milliseconds=1_500)])


def _with(operators: list[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.sampled_from(operators), values)


MATCHERS: st.SearchStrategy[Matcher] = st.builds(
    lambda name, rest: Matcher(name, *rest), NAMES, _with(["=", "!="], ANY_TEXT) | _with(["=~", "!~"], PATTERNS)
)
COMPARISONS: st.SearchStrategy[Condition] = st.builds(
    lambda name, rest: Comparison(name, *rest), NAMES, _with(["=", "!="], ANY_TEXT) | _with(["=~", "!~"], PATTERNS)
) | st.builds(
    lambda name, operator, text: Comparison(name, operator, Quantity(text)),
    NAMES,
    st.sampled_from(["==", "=", "!=", ">", ">=", "<", "<="]),
    QUANTITIES,
)


def _compound(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return parts.map(Every) | parts.map(Some)


CONDITIONS: st.SearchStrategy[Condition] = st.recursive(COMPARISONS, _compound, max_leaves=6)
STAGES: st.SearchStrategy[Stage] = (
    st.builds(lambda rest: LineFilter(*rest), _with(["|=", "!="], ANY_TEXT) | _with(["|~", "!~"], PATTERNS))
    | st.sampled_from([Parser("json"), Parser("logfmt")])
    | st.sampled_from(["", "x", "{{.msg}}: {{ .level }}", "{ {{__line__}} }", 'a "b"\n']).map(LineFormat)
    | CONDITIONS
)
LOG_QUERIES: st.SearchStrategy[LogQuery] = st.builds(
    lambda first, more, stages: LogQuery((first, *more), tuple(stages)),
    st.builds(lambda value: Matcher("app", "=", value), ANY_TEXT.filter(bool)),
    st.lists(MATCHERS, max_size=3),
    st.lists(STAGES, max_size=4),
)
GROUPINGS = st.none() | st.builds(
    lambda without, labels: Grouping(without, tuple(labels)), st.booleans(), st.lists(GROUPED, max_size=3)
)


def _larger(inner: st.SearchStrategy[MetricQuery]) -> st.SearchStrategy[MetricQuery]:
    return st.builds(Summary, st.sampled_from(SUMMARISES), inner, GROUPINGS) | st.builds(
        Summary, st.sampled_from(KEEPS_MOST), inner, GROUPINGS, st.integers(1, 1_000)
    )


COUNTED: st.SearchStrategy[MetricQuery] = st.builds(Count, st.sampled_from(COUNTS), LOG_QUERIES, RANGES)
EXPRESSIONS: st.SearchStrategy[Expression] = LOG_QUERIES | st.recursive(COUNTED, _larger, max_leaves=3)
