"""Binary operators with Go's floating-point results, and one-to-one pairing of vectors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from inquest.scenarios.promql.grid import Column, Scalar, Vector
from inquest.scenarios.promql.refusals import ExecutionFailed
from inquest.scenarios.promql.samples import NAME, Labels, without_name
from inquest.scenarios.promql.syntax import Arithmetic, Binary, Comparison, Matching

_Apply = Callable[[float, float], float | None]


def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _modulo(left: float, right: float) -> float:
    try:
        return math.fmod(left, right)
    except ValueError:  # x % 0 and Inf % x
        return math.nan


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:  # 0 to a negative power, or a negative number to a broken one
        if base:
            return math.nan
        odd = exponent % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf


_ARITHMETIC: dict[Arithmetic, Callable[[float, float], float]] = {
    Arithmetic.ADD: operator.add,
    Arithmetic.SUBTRACT: operator.sub,
    Arithmetic.MULTIPLY: operator.mul,
    Arithmetic.DIVIDE: _divide,
    Arithmetic.MODULO: _modulo,
    Arithmetic.POWER: _power,
}
_COMPARISON: dict[Comparison, Callable[[float, float], bool]] = {
    Comparison.EQUAL: operator.eq,
    Comparison.NOT_EQUAL: operator.ne,
    Comparison.GREATER: operator.gt,
    Comparison.LESS: operator.lt,
    Comparison.GREATER_OR_EQUAL: operator.ge,
    Comparison.LESS_OR_EQUAL: operator.le,
}


def combine(node: Binary, left: Scalar | Vector, right: Scalar | Vector) -> Scalar | Vector:
    """Apply the operator of `node` to its evaluated sides. Raises ExecutionFailed for an ambiguous pairing."""
    if isinstance(left, Scalar):
        if isinstance(right, Scalar):
            return Scalar([_number(node, a, b) for a, b in zip(left.column, right.column, strict=True)])
        return _with_scalar(node, right, _swapped(node), left.column)
    if isinstance(right, Scalar):
        return _with_scalar(node, left, _apply(node), right.column)
    return _pair(node, left, right)


def _swapped(node: Binary) -> _Apply:
    """Give the operator as a function of (the vector's value, the scalar on its left)."""
    apply = _apply(node)
    if isinstance(node.operator, Arithmetic) or node.returns_bool:
        return lambda value, scalar: apply(scalar, value)
    # What a comparison keeps is the vector's value, whichever side it stands on.
    return lambda value, scalar: None if apply(scalar, value) is None else value


def _apply(node: Binary) -> _Apply:
    """Give the operator as a function of both values; None means that the comparison drops the sample."""
    if isinstance(node.operator, Arithmetic):
        return _ARITHMETIC[node.operator]
    compare = _COMPARISON[node.operator]
    if node.returns_bool:
        return lambda a, b: float(compare(a, b))
    return lambda a, b: a if compare(a, b) else None


def _number(node: Binary, left: float, right: float) -> float:
    if isinstance(node.operator, Arithmetic):
        return _ARITHMETIC[node.operator](left, right)
    return float(_COMPARISON[node.operator](left, right))  # the parser demands `bool` between scalars


def _drops_name(node: Binary) -> bool:
    return isinstance(node.operator, Arithmetic) or node.returns_bool


def _with_scalar(node: Binary, vector: Vector, apply: _Apply, scalars: list[float]) -> Vector:
    result = Vector()
    for labels, column in vector.columns.items():
        kept = without_name(labels) if _drops_name(node) else labels
        result.add(
            kept,
            [None if value is None else apply(value, scalar) for value, scalar in zip(column, scalars, strict=True)],
        )
    return result


def _pair(node: Binary, left: Vector, right: Vector) -> Vector:
    """Pair the series of both sides by their matching labels, anew at each time."""
    apply = _apply(node)
    rights = _by_signature(node.matching, right)
    lefts = _by_signature(node.matching, left)
    result = Vector()
    only_right = {signature: _single(signature, series) for signature, series in rights.items()}
    for signature, series in lefts.items():
        partner = only_right.get(signature)
        if partner is None:
            continue
        _single_left(series, partner)
        for labels, column in series:
            paired = [None if a is None or b is None else apply(a, b) for a, b in zip(column, partner, strict=True)]
            result.add(_result_labels(node, labels), paired)
    return result


def _by_signature(matching: Matching, vector: Vector) -> dict[Labels, list[tuple[Labels, Column]]]:
    groups: dict[Labels, list[tuple[Labels, Column]]] = {}
    for labels, column in vector.columns.items():
        groups.setdefault(_signature(matching, labels), []).append((labels, column))
    return groups


def _signature(matching: Matching, labels: Labels) -> Labels:
    if matching.only:
        return tuple(pair for pair in labels if pair[0] in matching.labels)
    return tuple(pair for pair in labels if pair[0] != NAME and pair[0] not in matching.labels)


def _result_labels(node: Binary, labels: Labels) -> Labels:
    if node.matching.only:
        kept = tuple(pair for pair in labels if pair[0] in node.matching.labels)
    else:
        kept = tuple(pair for pair in labels if pair[0] not in node.matching.labels)
    return without_name(kept) if _drops_name(node) else kept


def _single(signature: Labels, series: list[tuple[Labels, Column]]) -> Column:
    """Merge the series of one right-hand group. Raises ExecutionFailed where two have a value at one time."""
    merged = list(series[0][1])
    holder = [series[0][0]] * len(merged)
    for labels, column in series[1:]:
        for index, value in enumerate(column):
            if value is None:
                continue
            if merged[index] is not None:
                raise ExecutionFailed(_duplicate_text(signature, labels, holder[index]))
            merged[index], holder[index] = value, labels
    return merged


def _duplicate_text(signature: Labels, found: Labels, earlier: Labels) -> str:
    return (
        f"found duplicate series for the match group {as_text(signature)} on the right hand-side of the operation: "
        f"[{as_text(found)}, {as_text(earlier)}];many-to-many matching not allowed: "
        "matching labels must be unique on one side"
    )


def _single_left(series: list[tuple[Labels, Column]], partner: Column) -> None:
    for index, value in enumerate(partner):
        if value is not None and sum(column[index] is not None for _, column in series) > 1:
            raise ExecutionFailed(
                "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
            )


def as_text(labels: Labels) -> str:
    """Write a label set as Prometheus does in its messages: `{a="b", c="d"}`."""
    return "{" + ", ".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
