"""An expression under the limits, in the scope of its integration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import assert_never

from inquest.ports import InvalidQuery
from inquest.wire.logql.bounds import bounds_of
from inquest.wire.logql.parser import parse
from inquest.wire.logql.printer import write, write_selector
from inquest.wire.logql.syntax import (
    Comparison,
    Count,
    Every,
    Expression,
    LineFilter,
    LogQuery,
    MetricQuery,
    Some,
    Stage,
    Summary,
    log_query_of,
    reach_of,
)
from inquest.wire.matching import Bounds, Matcher
from inquest.wire.regex_shape import UnreadablePattern, shape_of

MAX_REACH = timedelta(hours=24)
"""The longest range of a count or rate: it is read before the time range begins, too."""


@dataclass(frozen=True, slots=True)
class LogqlLimits:
    """What an integration may change of the limits."""

    max_reach: timedelta = MAX_REACH


@dataclass(frozen=True, slots=True)
class Scoped:
    """The text to send.

    `selector` is its stream selector alone. `elsewhere` names mandatory labels for which the caller asked
    another value. `reach` is how far before its evaluation time it looks. `is_metric` says that it gives
    numbers, not lines. `bounds`: what a stream or series of the answer fits, None where it cannot be told.
    """

    expression: str
    selector: str
    elsewhere: tuple[str, ...] = ()
    reach: timedelta = timedelta()
    is_metric: bool = False
    bounds: Bounds | None = field(default=None, compare=False)


def scope(expression: str, matchers: Mapping[str, str], limits: LogqlLimits | None = None) -> Scoped:
    """Put `expression` into the scope of `matchers` (label: value), all of them in its selector.

    Scoping a scoped expression changes nothing. Raises InvalidQuery with a hint for what cannot be parsed or
    is over a limit.
    """
    return _scope(parse(expression), matchers, limits or LogqlLimits())


def scope_selector(selector: str, matchers: Mapping[str, str]) -> Scoped:
    """Do the same for a bare stream selector, as in `{app="web"}`."""
    tree = parse(selector)
    if not isinstance(tree, LogQuery) or tree.stages:
        raise InvalidQuery('selector: write a stream selector and nothing else, as in {app="web"}')
    return _scope(tree, matchers, LogqlLimits())


def _scope(tree: Expression, matchers: Mapping[str, str], limits: LogqlLimits) -> Scoped:
    _check(tree, limits)
    found = log_query_of(tree).matchers
    inside = _inside(tree, matchers)
    sent = write(inside)
    if parse(sent) != inside:
        raise InvalidQuery("expression: it does not read back as it was written")
    return Scoped(
        expression=sent,
        selector=write_selector(log_query_of(inside).matchers),
        elsewhere=tuple(sorted({one.name for one in found if _is_elsewhere(one, matchers)})),
        reach=reach_of(tree),
        is_metric=not isinstance(tree, LogQuery),
        bounds=bounds_of(inside),
    )


def _inside(tree: Expression, matchers: Mapping[str, str]) -> Expression:
    """Give `tree` with every mandatory matcher in its selector."""
    return _lines_inside(tree, matchers) if isinstance(tree, LogQuery) else _numbers_inside(tree, matchers)


def _numbers_inside(tree: MetricQuery, matchers: Mapping[str, str]) -> MetricQuery:
    match tree:
        case Count(query=query):
            return replace(tree, query=_lines_inside(query, matchers))
        case Summary(operand=operand):
            return replace(tree, operand=_numbers_inside(operand, matchers))
        case unknown:
            assert_never(unknown)


def _lines_inside(query: LogQuery, matchers: Mapping[str, str]) -> LogQuery:
    wanted = (Matcher(name, "=", value) for name, value in sorted(matchers.items()))
    return replace(query, matchers=(*query.matchers, *(one for one in wanted if one not in query.matchers)))


def _is_elsewhere(matcher: Matcher, matchers: Mapping[str, str]) -> bool:
    return matcher.operator == "=" and matchers.get(matcher.name, matcher.value) != matcher.value


# ---- limits --------------------------------------------------------------------------------------------


def _check(tree: Expression, limits: LogqlLimits) -> None:
    query = log_query_of(tree)
    narrow = [_is_narrow(one) for one in query.matchers]  # all are read: each pattern is checked
    if not any(narrow):
        raise InvalidQuery("expression: the selector needs a matcher that does not match everything")
    for pattern in _patterns(query.stages):
        _is_fixed(pattern)
    if reach_of(tree) > limits.max_reach:
        hours = limits.max_reach / timedelta(hours=1)
        raise InvalidQuery(f"expression: its range is longer than {hours:g} hours")


def _is_narrow(matcher: Matcher) -> bool:
    match matcher.operator:
        case "=":
            return matcher.value != ""
        case "=~":
            return _is_fixed(matcher.value)
        case "!~":
            _is_fixed(matcher.value)
            return False
        case _:
            return False


def _patterns(stages: tuple[Stage, ...]) -> Iterator[str]:
    waiting = list(stages)
    while waiting:
        match waiting.pop():
            case LineFilter(operator="|~" | "!~", text=pattern):
                yield pattern
            case Comparison(operator="=~" | "!~", value=str() as pattern):
                yield pattern
            case Every(parts=parts) | Some(parts=parts):
                waiting.extend(parts)
            case _:
                pass


def _is_fixed(pattern: str) -> bool:
    """Say whether what `pattern` matches must hold some fixed character. Raises InvalidQuery over its limits."""
    try:
        shape = shape_of(pattern)
    except UnreadablePattern as error:
        raise InvalidQuery(f"expression: {error}") from error
    if shape.nested:
        raise InvalidQuery("expression: a pattern repeats a repetition, as in (a+)+")
    return shape.fixed
