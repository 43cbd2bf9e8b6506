"""Which labels the series of an expression's answer must carry, read off its tree.

A function, an aggregation or an operator keeps, drops or writes labels; what a selector asked of a label that is
kept holds for every series of the answer. Only what a source must do by the language's own rules is taken for
sure; the metric name, for one, is dropped here where some sources keep it.
"""

from __future__ import annotations

from collections.abc import Callable

import promql_parser as ast

from inquest.wire.matching import NAME, UNLABELLED, Bound, Bounds, Matcher, decidable
from inquest.wire.promql.printer import operator

_SELECTS_ONLY = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
"""Aggregations that give some of their series as they are."""
_ORDERS = frozenset({"sort", "sort_desc", "sort_by_label", "sort_by_label_desc"})
_MAKES_LABELS = frozenset({"absent", "absent_over_time", "info"})
"""Functions whose labels cannot be told from one selector."""
_WRITES = frozenset({"label_replace", "label_join"})
_BUCKET_LABELS = frozenset({NAME, "le", "vmrange"})
_COMPARES = frozenset({"==", "!=", ">", "<", ">=", "<="})


class _Undecidable(Exception):
    """The labels of the answer cannot be told."""


def bounds_of(tree: ast.Expr) -> Bounds | None:
    """Give what a series of the answer to `tree` fits one of; None where it cannot be told."""
    try:
        return decidable(_of(tree))
    except _Undecidable:
        return None


def _of(node: ast.Expr) -> Bounds:  # noqa: PLR0911  # one case a kind of node
    match node:
        case ast.VectorSelector():
            return (_selected(node),)
        case ast.MatrixSelector(vector_selector=inner):
            return (_selected(inner),)
        case ast.ParenExpr() | ast.SubqueryExpr():
            return _of(node.expr)
        case ast.UnaryExpr():
            return _each(_of(node.expr), lambda one: one.without({NAME}))
        case ast.Call():
            return _called(node)
        case ast.AggregateExpr():
            return _aggregated(node)
        case ast.BinaryExpr():
            return _combined(node)
        case ast.NumberLiteral() | ast.StringLiteral():
            return UNLABELLED
        case _:
            raise _Undecidable


def _each(bounds: Bounds, change: Callable[[Bound], Bound]) -> Bounds:
    return tuple(change(one) for one in bounds)


def _selected(node: ast.VectorSelector) -> Bound:
    named = (Matcher(NAME, "=", node.name),) if node.name else ()
    return Bound((*named, *(Matcher(one.name, operator(one), one.value) for one in node.matchers.matchers)))


def _called(node: ast.Call) -> Bounds:
    function = node.func.name
    if function in _MAKES_LABELS:
        raise _Undecidable
    vectors = [argument for argument in node.args if not _is_scalar(argument)]
    if not vectors or function in {"scalar", "vector"}:
        return UNLABELLED
    if len(vectors) > 1:
        raise _Undecidable
    inner = _of(vectors[0])
    if function in _ORDERS:
        return inner
    if function in _WRITES:
        return _writing(inner, node.args[1])
    dropped = _BUCKET_LABELS if function.startswith("histogram_") else {NAME}
    return _each(inner, lambda one: one.without(dropped))


def _aggregated(node: ast.AggregateExpr) -> Bounds:
    inner = _of(node.expr)
    if str(node.op) in _SELECTS_ONLY:
        return inner
    names = () if node.modifier is None else tuple(node.modifier.labels)
    if node.modifier is not None and node.modifier.type == ast.AggModifierType.Without:
        kept = _each(inner, lambda one: one.without({*names, NAME}))
    else:
        kept = _each(inner, lambda one: one.keeping(names))
    return _writing(kept, node.param) if str(node.op) == "count_values" else kept


def _writing(bounds: Bounds, target: ast.Expr | None) -> Bounds:
    if not isinstance(target, ast.StringLiteral):
        raise _Undecidable
    name = target.val
    return _each(bounds, lambda one: one.writing({name}))


def _combined(node: ast.BinaryExpr) -> Bounds:
    sign, modifier = str(node.op), node.modifier
    match sign:
        case "and" | "unless":
            return _of(node.lhs)
        case "or":
            return (*_of(node.lhs), *_of(node.rhs))
        case _:
            pass
    left, right = (_is_scalar(side) for side in (node.lhs, node.rhs))
    if left or right:
        found = UNLABELLED if left and right else _of(node.rhs if left else node.lhs)
        filters = sign in _COMPARES and not (modifier is not None and modifier.return_bool)
        return found if filters else _each(found, lambda one: one.without({NAME}))
    return _matched(node, modifier)


def _matched(node: ast.BinaryExpr, modifier: ast.BinModifier | None) -> Bounds:
    """Two vectors: the series are those of the "many" side, or of the left one, less what is not matched on."""
    if modifier is None:
        return _each(_of(node.lhs), lambda one: one.without({NAME}))
    many_is_right = modifier.card == ast.VectorMatchCardinality.OneToMany
    found = _each(_of(node.rhs if many_is_right else node.lhs), lambda one: one.without({NAME}))
    if modifier.card != ast.VectorMatchCardinality.OneToOne:
        return _each(found, lambda one: one.writing(modifier.group_labels or ()))
    if modifier.matching is None:
        return found
    names = modifier.matching.labels
    if modifier.matching.type == ast.LabelModifierType.Include:
        return _each(found, lambda one: one.keeping(names))
    return _each(found, lambda one: one.without(names))


def _is_scalar(node: ast.Expr) -> bool:
    match node:
        case ast.NumberLiteral() | ast.StringLiteral():
            return True
        case ast.ParenExpr() | ast.UnaryExpr():
            return _is_scalar(node.expr)
        case ast.Call():
            return node.func.name in {"scalar", "time", "pi"}
        case ast.BinaryExpr():
            return _is_scalar(node.lhs) and _is_scalar(node.rhs)
        case _:
            return False
