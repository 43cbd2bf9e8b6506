"""Evaluate the subset over samples in memory: one pass per node, all evaluation times at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import assert_never

from inquest.scenarios import bounds
from inquest.scenarios.promql import windows
from inquest.scenarios.promql.grid import Bill, Column, Grid, Scalar, Vector, instant
from inquest.scenarios.promql.histogram import quantile_of
from inquest.scenarios.promql.operators import combine
from inquest.scenarios.promql.refusals import ExecutionFailed, ParseFailed, Unsupported
from inquest.scenarios.promql.samples import NAME, Labels, Samples, Series, without_name
from inquest.scenarios.promql.syntax import (
    Aggregate,
    Aggregation,
    Binary,
    Expression,
    HistogramQuantile,
    Negative,
    Number,
    OverWindow,
    RangeFunction,
    Selector,
    Window,
)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Raw samples: (labels, ((epoch ms, value), ...)) for each series, ordered by labels."""

    series: tuple[tuple[Labels, tuple[tuple[int, float], ...]], ...]


def evaluate_instant(tree: Expression, samples: Samples, at_ms: int, *, horizon_ms: int) -> Scalar | Vector | Matrix:
    """Evaluate at `at_ms`, seeing no sample later than `horizon_ms`.

    A bare window gives its raw samples. Raises Unsupported or ExecutionFailed.
    """
    evaluation = _Evaluation(samples, instant(at_ms), horizon_ms)
    if isinstance(tree, Window):
        return evaluation.raw(tree)
    return evaluation.value(tree)


def evaluate_range(tree: Expression, samples: Samples, grid: Grid, *, horizon_ms: int) -> Matrix:
    """Evaluate at each time of `grid`. Raises ParseFailed for a bare window, else as `evaluate_instant`."""
    if isinstance(tree, Window):
        raise ParseFailed('invalid expression type "range vector" for range query, must be Scalar or instant Vector')
    value = _Evaluation(samples, grid, horizon_ms).value(tree)
    match value:
        case Scalar():
            return Matrix((((), tuple(zip(grid.times, value.column, strict=True))),))
        case Vector():
            return Matrix(
                tuple(
                    (labels, points)
                    for labels, column in sorted(value.columns.items())
                    if (points := _points(grid, column))
                ),
            )
        case unknown:
            assert_never(unknown)


def _points(grid: Grid, column: Column) -> tuple[tuple[int, float], ...]:
    return tuple((time, value) for time, value in zip(grid.times, column, strict=True) if value is not None)


@dataclass(slots=True)
class _Evaluation:
    samples: Samples
    grid: Grid
    horizon_ms: int
    bill: Bill = field(default_factory=Bill)

    def value(self, node: Expression) -> Scalar | Vector:  # noqa: PLR0911 - one arm for each kind of node
        match node:
            case Number():
                return Scalar([node.value] * self.grid.count)
            case Selector():
                return self._selected(node)
            case OverWindow():
                return self._over_window(node)
            case HistogramQuantile():
                return quantile_of(self._scalar(node.quantile).column, self._vector(node.buckets))
            case Aggregate():
                return self._aggregated(node)
            case Binary():
                return combine(node, self.value(node.left), self.value(node.right))
            case Negative():
                return self._negated(node)
            case Window():
                raise Unsupported("a range vector here")
            case unknown:
                assert_never(unknown)

    def raw(self, node: Window) -> Matrix:
        found = []
        for series in self._series(node.selector):
            piece = next(windows.slices(node, series, grid=self.grid, bill=self.bill))
            if piece is not None:
                times = series.times[piece.low : piece.high]
                found.append((series.labels, tuple(zip(times, piece.values, strict=True))))
        return Matrix(tuple(found))

    def _series(self, selector: Selector) -> list[Series]:
        found = self.samples.select(selector.matchers)
        self.bill.add(len(found) * self.grid.count)
        return [windows.up_to(series, self.horizon_ms) for series in found]

    def _selected(self, node: Selector) -> Vector:
        result = Vector()
        for series in self._series(node):
            column = windows.newest_column(
                series, offset_ms=node.offset_ms, lookback_ms=bounds.LOOKBACK_MS, grid=self.grid
            )
            _add_present(result, series.labels, column)
        return result

    def _over_window(self, node: OverWindow) -> Vector:
        result = Vector()
        for series in self._series(node.window.selector):
            column = windows.column_of(node.function, node.window, series, grid=self.grid, bill=self.bill)
            keeps_name = node.function is RangeFunction.LAST
            labels = series.labels if keeps_name else without_name(series.labels)
            if labels in result.columns and any(value is not None for value in column):
                # Prometheus looks at the whole range here, not at one time.
                raise ExecutionFailed("vector cannot contain metrics with the same labelset")
            _add_present(result, labels, column)
        return result

    def _negated(self, node: Negative) -> Scalar | Vector:
        operand = self.value(node.operand)
        if isinstance(operand, Scalar):
            return Scalar([-value for value in operand.column])
        result = Vector()
        for labels, column in operand.columns.items():
            result.add(without_name(labels), [None if value is None else -value for value in column])
        return result

    def _aggregated(self, node: Aggregate) -> Vector:
        groups: dict[Labels, list[Column]] = {}
        for labels, column in self._vector(node.operand).columns.items():
            groups.setdefault(_group(node, labels), []).append(column)
        result = Vector()
        for labels, columns in groups.items():
            self.bill.add(len(columns) * self.grid.count)
            result.add(labels, [_fold(node.operation, row) for row in zip(*columns, strict=True)])
        return result

    def _scalar(self, node: Expression) -> Scalar:
        value = self.value(node)
        if not isinstance(value, Scalar):
            raise Unsupported("an instant vector in place of a scalar")
        return value

    def _vector(self, node: Expression) -> Vector:
        value = self.value(node)
        if not isinstance(value, Vector):
            raise Unsupported("a scalar in place of an instant vector")
        return value


def _add_present(vector: Vector, labels: Labels, column: Column) -> None:
    if any(value is not None for value in column):
        vector.add(labels, column)


def _group(node: Aggregate, labels: Labels) -> Labels:
    if node.without:
        return tuple(pair for pair in labels if pair[0] != NAME and pair[0] not in node.labels)
    return tuple(pair for pair in labels if pair[0] in node.labels)


def _fold(operation: Aggregation, row: tuple[float | None, ...]) -> float | None:
    present = [value for value in row if value is not None]
    if not present:
        return None
    match operation:
        case Aggregation.SUM:
            return sum(present)
        case Aggregation.AVG:
            return sum(present) / len(present)
        case Aggregation.COUNT:
            return float(len(present))
        case Aggregation.MIN:
            return min((value for value in present if not math.isnan(value)), default=math.nan)
        case Aggregation.MAX:
            return max((value for value in present if not math.isnan(value)), default=math.nan)
        case unknown:
            assert_never(unknown)
