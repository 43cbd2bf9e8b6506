"""Tree -> the text that is sent: one line, strings in double quotes with the escapes of Go."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from inquest.domain.selector import quote
from inquest.wire.logql.syntax import (
    Comparison,
    Condition,
    Count,
    Every,
    Expression,
    Grouping,
    LineFilter,
    LineFormat,
    LogQuery,
    Parser,
    Some,
    Stage,
    Summary,
)
from inquest.wire.matching import Matcher

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


def write(tree: Expression) -> str:
    """Write `tree`; parsing what is written gives `tree` again."""
    match tree:
        case LogQuery(matchers=matchers, stages=stages):
            return " ".join((write_selector(matchers), *map(_stage, stages)))
        case Count(function=function, query=query, range=length):
            return f"{function}({write(query)} [{duration(length)}])"
        case Summary(function=function, operand=operand, grouping=grouping, most=most):
            parameter = "" if most is None else f"{most}, "
            return f"{function}{_grouping(grouping)}({parameter}{write(operand)})"
        case unknown:
            assert_never(unknown)


def write_selector(matchers: tuple[Matcher, ...]) -> str:
    """Write a stream selector, as in `{app="web", env=~"prod.*"}`."""
    return "{" + ", ".join(f"{one.name}{one.operator}{quote(one.value)}" for one in matchers) + "}"


def duration(length: timedelta) -> str:
    """Write a positive duration, as in 1h30m."""
    rest, parts = length // timedelta(milliseconds=1), []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def _stage(stage: Stage) -> str:
    match stage:
        case LineFilter(operator=operator, text=text):
            return f"{operator} {quote(text)}"
        case Parser(form=form):
            return f"| {form}"
        case LineFormat(template=template):
            return f"| line_format {quote(template)}"
        case Comparison() | Every() | Some():
            return f"| {_condition(stage)}"
        case unknown:
            assert_never(unknown)


def _condition(condition: Condition) -> str:
    match condition:
        case Comparison(name=name, operator=operator, value=value):
            return f"{name}{operator}{quote(value)}" if isinstance(value, str) else f"{name} {operator} {value.text}"
        case Every(parts=parts):
            return " and ".join(map(_inner, parts))
        case Some(parts=parts):
            return " or ".join(map(_inner, parts))
        case unknown:
            assert_never(unknown)


def _inner(condition: Condition) -> str:
    """Write a part of a compound condition, in brackets where it is compound itself."""
    return _condition(condition) if isinstance(condition, Comparison) else f"({_condition(condition)})"


def _grouping(grouping: Grouping | None) -> str:
    if grouping is None:
        return ""
    return f" {'without' if grouping.without else 'by'} ({', '.join(grouping.labels)}) "
