"""An expression under the limits, in the scope of its integration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import promql_parser as ast

from inquest.ports import InvalidQuery
from inquest.wire.matching import Bounds
from inquest.wire.promql.bounds import bounds_of
from inquest.wire.promql.lexical import plain_text
from inquest.wire.promql.printer import operator, write
from inquest.wire.regex_shape import UnreadablePattern, shape_of

MAX_REACH = timedelta(days=8)
"""How far before its evaluation time an expression may look: ranges, subqueries and offsets together."""
MAX_SUBQUERY_POINTS = 2_000
MAX_SELECTORS = 32
MAX_KEPT_SERIES = 1_000
"""The k of topk and its like."""
SUBQUERY_STEP = timedelta(seconds=15)
"""The step that is assumed where a subquery names none: the shortest usual evaluation interval."""
MAX_REASON_CHARS = 160

_NOTHING = timedelta()
_KEEPING = frozenset({"topk", "bottomk", "limitk"})
_PATTERN_ARGUMENT = 4
"""label_replace(vector, target, replacement, source, PATTERN)."""


@dataclass(frozen=True, slots=True)
class PromqlLimits:
    """What an integration may change of the limits."""

    max_reach: timedelta = MAX_REACH


@dataclass(frozen=True, slots=True)
class Scoped:
    """The text to send.

    `elsewhere` names mandatory labels for which the caller asked another value. `is_range` says that its
    value is a range vector, which only a function can use. `bounds`: what a series of the answer fits, None
    where it cannot be told.
    """

    expression: str
    elsewhere: tuple[str, ...] = ()
    is_range: bool = False
    bounds: Bounds | None = field(default=None, compare=False)


def scope(expression: str, matchers: Mapping[str, str], limits: PromqlLimits | None = None) -> Scoped:
    """Put `expression` into the scope of `matchers` (label: value), all of them in every selector.

    Scoping a scoped expression changes nothing. Raises InvalidQuery with a hint for what cannot be parsed
    or is over a limit.
    """
    return _scope(_parsed(expression), matchers, limits or PromqlLimits())


def scope_selector(selector: str, matchers: Mapping[str, str], limits: PromqlLimits | None = None) -> Scoped:
    """Do the same for a bare series selector, as in `match[]`."""
    tree = _parsed(selector)
    if not isinstance(tree, ast.VectorSelector) or tree.offset is not None or tree.at is not None:
        raise InvalidQuery('selector: write a series selector and nothing else, as in up{job="web"}')
    return _scope(tree, matchers, limits or PromqlLimits())


def _parsed(expression: str) -> ast.Expr:
    plain = plain_text(expression)
    try:
        return ast.parse(plain)
    except (ValueError, UnicodeEncodeError) as error:
        reason = " ".join(str(error).split())[:MAX_REASON_CHARS]
        raise InvalidQuery(f"expression: {reason or 'cannot be parsed'}") from error


def _scope(tree: ast.Expr, matchers: Mapping[str, str], limits: PromqlLimits) -> Scoped:
    _check(tree, limits, scoped=bool(matchers))
    elsewhere = sorted({name for node in _selectors(tree) for name in _elsewhere(node, matchers)})
    sent = write(tree, _missing(matchers))
    _same(tree, write(tree))
    again = _reparsed(sent)
    if write(again) != sent or any(_missing(matchers)(node) for node in _selectors(again)):
        raise InvalidQuery("expression: it does not read back as it was written")
    is_range = isinstance(tree, ast.MatrixSelector | ast.SubqueryExpr)
    return Scoped(sent, tuple(elsewhere), is_range=is_range, bounds=bounds_of(again))


def _reparsed(text: str) -> ast.Expr:
    try:
        return ast.parse(text)
    except ValueError as error:
        raise InvalidQuery("expression: it does not read back as it was written") from error


def _same(tree: ast.Expr, text: str) -> None:
    """Refuse what the printer and the parser do not agree on; the package's repr shows the whole tree."""
    if repr(_reparsed(text)) != repr(tree):
        raise InvalidQuery("expression: it does not read back as it was written")


def _missing(matchers: Mapping[str, str]) -> Callable[[ast.VectorSelector], list[tuple[str, str]]]:
    def missing(node: ast.VectorSelector) -> list[tuple[str, str]]:
        has = {(one.name, one.value) for one in node.matchers.matchers if operator(one) == "="}
        return [(name, value) for name, value in sorted(matchers.items()) if (name, value) not in has]

    return missing


def _elsewhere(node: ast.VectorSelector, matchers: Mapping[str, str]) -> list[str]:
    return [
        one.name
        for one in node.matchers.matchers
        if operator(one) == "=" and one.name in matchers and one.value != matchers[one.name]
    ]


# ---- limits --------------------------------------------------------------------------------------------


def _children(node: ast.Expr) -> list[ast.Expr]:
    match node:
        case ast.MatrixSelector():
            return [node.vector_selector]
        case ast.SubqueryExpr() | ast.ParenExpr() | ast.UnaryExpr():
            return [node.expr]
        case ast.Call():
            return list(node.args)
        case ast.AggregateExpr():
            return [node.expr] if node.param is None else [node.param, node.expr]
        case ast.BinaryExpr():
            return [node.lhs, node.rhs]
        case _:
            return []


def _nodes(tree: ast.Expr) -> Iterator[ast.Expr]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_children(node))


def _selectors(tree: ast.Expr) -> Iterator[ast.VectorSelector]:
    return (node for node in _nodes(tree) if isinstance(node, ast.VectorSelector))


def _check(tree: ast.Expr, limits: PromqlLimits, *, scoped: bool) -> None:
    if sum(1 for _ in _selectors(tree)) > MAX_SELECTORS:
        raise InvalidQuery(f"expression: more than {MAX_SELECTORS} selectors")
    for node in _nodes(tree):
        match node:
            case ast.VectorSelector():
                _check_selector(node)
            case ast.Call() if node.func.name == "label_replace":
                _check_patterns(node.args[_PATTERN_ARGUMENT:])
            case ast.Call() if node.func.name == "info" and scoped:
                raise InvalidQuery("expression: info() joins series that cannot be put in scope")
            case ast.AggregateExpr() if str(node.op) in _KEEPING:
                _check_kept(node)
            case _:
                pass
    _check_reach(tree, limits.max_reach, points=1)


def _check_selector(node: ast.VectorSelector) -> None:
    narrow = bool(node.name)
    for one in node.matchers.matchers:
        match operator(one):
            case "=":
                narrow = narrow or one.value != ""
            case "=~":
                narrow = _pattern_is_fixed(one.value) or narrow
            case _:
                _pattern_is_fixed(one.value if operator(one) == "!~" else "")
    if not narrow:
        raise InvalidQuery("expression: a selector needs a metric name or a matcher that does not match everything")


def _pattern_is_fixed(pattern: str) -> bool:
    try:
        shape = shape_of(pattern)
    except UnreadablePattern as error:
        raise InvalidQuery(f"expression: {error}") from error
    if shape.nested:
        raise InvalidQuery("expression: a pattern repeats a repetition, as in (a+)+")
    return shape.fixed


def _check_patterns(arguments: list[ast.Expr]) -> None:
    for argument in arguments:
        if isinstance(argument, ast.StringLiteral):
            _pattern_is_fixed(argument.val)


def _check_kept(node: ast.AggregateExpr) -> None:
    parameter = node.param
    if isinstance(parameter, ast.NumberLiteral) and not parameter.val <= MAX_KEPT_SERIES:
        raise InvalidQuery(f"expression: {node.op} keeps at most {MAX_KEPT_SERIES} series")


def _check_reach(node: ast.Expr, left: timedelta, *, points: int) -> None:
    """Walk down with what is left of the reach; `points` is how often a node is evaluated per step."""
    match node:
        case ast.VectorSelector():
            left -= _back(node.offset)
        case ast.MatrixSelector():
            left -= node.range
        case ast.SubqueryExpr():
            length = node.range or _NOTHING
            left -= length + _back(node.offset)
            points *= max(1, length // (node.step or SUBQUERY_STEP))
        case _:
            pass
    if left < _NOTHING:
        raise InvalidQuery("expression: its ranges and offsets reach further back than the limit")
    if points > MAX_SUBQUERY_POINTS:
        raise InvalidQuery(f"expression: its subqueries take more than {MAX_SUBQUERY_POINTS} points; use a longer step")
    for child in _children(node):
        _check_reach(child, left, points=points)


def _back(offset: timedelta | None) -> timedelta:
    if offset is not None and offset < _NOTHING:
        raise InvalidQuery("expression: a negative offset looks past the time range")
    return offset or _NOTHING
