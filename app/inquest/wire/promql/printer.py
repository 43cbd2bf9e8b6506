"""A tree of the promql-parser package -> the text that is sent.

The package's own printer breaks long lines, writes escapes that Go does not read, and prints a changed
selector unchanged; so the text is written here, one line, strings in the escapes of both languages. A node
or an operator that is not listed is refused: what we cannot write back we do not send.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import timedelta

import promql_parser as ast

from inquest.domain.selector import quote
from inquest.ports import InvalidQuery

LEGACY_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*\Z")
_METRIC = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_OPERATORS = {
    str(ast.MatchOp.Equal): "=",
    str(ast.MatchOp.NotEqual): "!=",
    str(ast.MatchOp.Re): "=~",
    str(ast.MatchOp.NotRe): "!~",
}
_EXACT_INTEGERS = 1e15

Labels = Sequence[str]
Extra = Callable[[ast.VectorSelector], Sequence[tuple[str, str]]]
"""Gives the (name, value) pairs to add to a selector as equalities."""


def write(node: ast.Expr, extra: Extra = lambda _: ()) -> str:  # noqa: C901, PLR0911  # one case a kind of node
    """Write `node`, every selector with its `extra` matchers. Raises InvalidQuery for what it does not know."""
    match node:
        case ast.NumberLiteral(val=value):
            return number(value)
        case ast.StringLiteral(val=value):
            return quote(value)
        case ast.VectorSelector():
            return _selector(node, extra) + _moved(node.at, node.offset)
        case ast.MatrixSelector(vector_selector=inner):
            return f"{_selector(inner, extra)}[{duration(node.range)}]" + _moved(inner.at, inner.offset)
        case ast.SubqueryExpr():
            step = "" if node.step is None else duration(node.step)
            length = "" if node.range is None else duration(node.range)
            return f"{write(node.expr, extra)}[{length}:{step}]" + _moved(node.at, node.offset)
        case ast.ParenExpr(expr=inner_expr):
            return f"({write(inner_expr, extra)})"
        case ast.UnaryExpr(expr=inner_expr):
            return f"-{write(inner_expr, extra)}"
        case ast.Call():
            return f"{node.func.name}({', '.join(write(argument, extra) for argument in node.args)})"
        case ast.AggregateExpr():
            parameter = "" if node.param is None else f"{write(node.param, extra)}, "
            return f"{node.op}{_grouping(node.modifier)}({parameter}{write(node.expr, extra)})"
        case ast.BinaryExpr():
            return f"{write(node.lhs, extra)} {node.op}{_matching(node.modifier)} {write(node.rhs, extra)}"
        case _:
            raise InvalidQuery(f"expression: {type(node).__name__} is not taken here")


def number(value: float) -> str:
    """Write a number as Go reads it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT_INTEGERS else repr(value)


def duration(length: timedelta) -> str:
    """Write a positive duration, as in 1h30m."""
    rest = length // timedelta(milliseconds=1)
    parts = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def operator(matcher: ast.Matcher) -> str:
    """Give =, !=, =~ or !~."""
    return _OPERATORS[str(matcher.op)]


def label(name: str) -> str:
    """Write a label name, quoted where it is no legacy name."""
    return name if LEGACY_NAME.match(name) else quote(name)


def _selector(node: ast.VectorSelector, extra: Extra) -> str:
    if node.matchers.or_matchers:
        raise InvalidQuery("expression: `or` between matchers is no PromQL; write selector or selector")
    name = node.name or ""
    if name and not _METRIC.match(name):
        matchers, name = [f"__name__={quote(name)}"], ""
    else:
        matchers = []
    matchers += [f"{label(one.name)}{operator(one)}{quote(one.value)}" for one in node.matchers.matchers]
    matchers += [f"{label(found)}={quote(value)}" for found, value in extra(node)]
    return f"{name}{{{', '.join(matchers)}}}" if matchers or not name else name


def _moved(at: ast.AtModifier | None, offset: timedelta | None) -> str:
    moved = ""
    if at is not None:
        match str(at):
            case "@ start()" | "@ end()" as named:
                moved += f" {named}"
            case _:
                raise InvalidQuery("expression: @ takes start() or end() here; narrow the time range instead")
    if offset is not None:
        sign = "-" if offset < timedelta() else ""
        moved += f" offset {sign}{duration(abs(offset))}"
    return moved


def _grouping(modifier: ast.AggModifier | None) -> str:
    if modifier is None:
        return ""
    word = "by" if modifier.type == ast.AggModifierType.By else "without"
    return f" {word} ({_labels(modifier.labels)}) "


def _matching(modifier: ast.BinModifier | None) -> str:
    if modifier is None:
        return ""
    if modifier.fill_values.lhs is not None or modifier.fill_values.rhs is not None:
        raise InvalidQuery("expression: fill is not taken here")
    words = " bool" if modifier.return_bool else ""
    if modifier.matching is not None:
        word = "on" if modifier.matching.type == ast.LabelModifierType.Include else "ignoring"
        words += f" {word} ({_labels(modifier.matching.labels)})"
    if modifier.card == ast.VectorMatchCardinality.ManyToOne:
        words += f" group_left ({_labels(modifier.group_labels or ())})"
    elif modifier.card == ast.VectorMatchCardinality.OneToMany:
        words += f" group_right ({_labels(modifier.group_labels or ())})"
    return words


def _labels(names: Labels) -> str:
    return ", ".join(label(name) for name in names)
