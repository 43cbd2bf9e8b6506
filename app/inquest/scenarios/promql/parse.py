"""Text -> the subset's tree, by way of the promql-parser package."""

from __future__ import annotations

import re
from datetime import timedelta

import promql_parser as rust

from inquest.errors import InvariantBroken
from inquest.scenarios import bounds
from inquest.scenarios.promql.refusals import ParseFailed, Unsupported
from inquest.scenarios.promql.samples import NAME
from inquest.scenarios.promql.syntax import (
    Aggregate,
    Aggregation,
    Arithmetic,
    Binary,
    Comparison,
    Expression,
    HistogramQuantile,
    Match,
    Matcher,
    Matching,
    Negative,
    Number,
    OverWindow,
    RangeFunction,
    Selector,
    Window,
)
from inquest.scenarios.promql.wording import as_prometheus_says
from inquest.wire.patterns import BadPattern, pattern

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`', re.DOTALL)
_BRACES = re.compile(r"\{[^{}]*\}")
_OPERATORS = re.compile(r"[-+*/%^]|[<>=!]=?|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
_MATCHES = {
    str(rust.MatchOp.Equal): Match.EQUAL,
    str(rust.MatchOp.NotEqual): Match.NOT_EQUAL,
    str(rust.MatchOp.Re): Match.SPANS,
    str(rust.MatchOp.NotRe): Match.NOT_SPANS,
}
_FUNCTIONS = {one.value: one for one in RangeFunction}
_AGGREGATIONS = {one.value: one for one in Aggregation}
_OPERATORS_BY_NAME: dict[str, Arithmetic | Comparison] = {
    **{one.value: one for one in Arithmetic},
    **{one.value: one for one in Comparison},
}


def parse(text: str) -> Expression:
    """Read `text`. Raises ParseFailed when it is not PromQL and Unsupported when it is outside the subset."""
    _refuse_what_is_too_large_to_parse(text)
    try:
        tree = rust.parse(text)
    except ValueError as refused:
        raise ParseFailed(as_prometheus_says(str(refused), text)) from refused
    return _expression(tree)


def parse_selector(text: str) -> tuple[Matcher, ...]:
    """Read a bare series selector, as in `match[]`. Raises as `parse` does."""
    tree = parse(text)
    if not isinstance(tree, Selector) or tree.offset_ms:
        raise ParseFailed("1:1: parse error: expected a series selector and nothing else")
    return tree.matchers


def _refuse_what_is_too_large_to_parse(text: str) -> None:
    if len(text) > bounds.MAX_EXPRESSION_CHARS:
        raise Unsupported(f"an expression of more than {bounds.MAX_EXPRESSION_CHARS} characters")
    plain = _BRACES.sub("", _STRINGS.sub("", text))
    depth = deepest = 0
    for character in plain:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > bounds.MAX_EXPRESSION_DEPTH:
        raise Unsupported(f"more than {bounds.MAX_EXPRESSION_DEPTH} nested brackets")
    if len(_OPERATORS.findall(plain)) > bounds.MAX_EXPRESSION_OPERATORS:
        raise Unsupported(f"more than {bounds.MAX_EXPRESSION_OPERATORS} operators")


def _expression(tree: rust.Expr) -> Expression:  # noqa: PLR0911 - one arm for each kind of node
    match tree:
        case rust.NumberLiteral():
            return Number(tree.val)
        case rust.ParenExpr():
            return _expression(tree.expr)
        case rust.UnaryExpr():
            return Negative(_expression(tree.expr))
        case rust.VectorSelector():
            return _selector(tree)
        case rust.MatrixSelector():
            return Window(_selector(tree.vector_selector), _milliseconds(tree.range))
        case rust.Call():
            return _call(tree)
        case rust.AggregateExpr():
            return _aggregate(tree)
        case rust.BinaryExpr():
            return _binary(tree)
        case rust.SubqueryExpr():
            raise Unsupported("subqueries")
        case _:
            raise Unsupported("this kind of expression (a string, perhaps)")


def _selector(tree: rust.VectorSelector) -> Selector:
    if tree.at is not None:
        raise Unsupported("the @ modifier")
    if tree.matchers.or_matchers:
        raise Unsupported("`or` between label matchers")
    matchers = [_matcher(one) for one in tree.matchers.matchers]
    if tree.name is not None:
        matchers.append(Matcher(NAME, Match.EQUAL, tree.name))
    return Selector(tuple(matchers), _milliseconds(tree.offset) if tree.offset is not None else 0)


def _matcher(tree: rust.Matcher) -> Matcher:
    match = _MATCHES[str(tree.op)]
    if match in (Match.EQUAL, Match.NOT_EQUAL):
        return Matcher(tree.name, match, tree.value)
    try:
        return Matcher(tree.name, match, tree.value, pattern(tree.value))
    except BadPattern as refused:
        raise ParseFailed(f"1:1: parse error: error parsing regexp: {refused}") from refused


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


def _call(tree: rust.Call) -> Expression:
    name = tree.func.name
    if name == "histogram_quantile":
        return HistogramQuantile(_expression(tree.args[0]), _expression(tree.args[1]))
    function = _FUNCTIONS.get(name)
    if function is None:
        raise Unsupported(f"the function {name}")
    window = _expression(tree.args[0])
    if not isinstance(window, Window):
        raise InvariantBroken(f"the parser let {name} take something other than a range")
    return OverWindow(function, window)


def _aggregate(tree: rust.AggregateExpr) -> Aggregate:
    name = str(tree.op)
    operation = _AGGREGATIONS.get(name)
    if operation is None:
        raise Unsupported(f"the aggregation {name}")
    operand = _expression(tree.expr)
    if tree.modifier is None:
        return Aggregate(operation, operand, (), without=False)
    without = str(tree.modifier.type) == str(rust.AggModifierType.Without)
    return Aggregate(operation, operand, tuple(tree.modifier.labels), without=without)


def _binary(tree: rust.BinaryExpr) -> Binary:
    name = str(tree.op)
    operator = _OPERATORS_BY_NAME.get(name)
    if operator is None:
        raise Unsupported(f"the operator {name}")
    returns_bool = tree.modifier is not None and tree.modifier.return_bool
    return Binary(operator, _expression(tree.lhs), _expression(tree.rhs), returns_bool, _matching(tree.modifier))


def _matching(modifier: rust.BinModifier | None) -> Matching:
    if modifier is None:
        return Matching((), only=False)
    if str(modifier.card) != str(rust.VectorMatchCardinality.OneToOne):
        raise Unsupported("group_left and group_right")
    if modifier.fill_values.lhs is not None or modifier.fill_values.rhs is not None:
        raise Unsupported("fill")
    if modifier.matching is None:
        return Matching((), only=False)
    only = str(modifier.matching.type) == str(rust.LabelModifierType.Include)
    return Matching(tuple(modifier.matching.labels), only=only)
