"""What an evaluation passes around: the evaluation times, the values at each of them, and the bill."""

from __future__ import annotations

from dataclasses import dataclass, field

from inquest.scenarios import bounds
from inquest.scenarios.promql.refusals import ExecutionFailed
from inquest.scenarios.promql.samples import Labels

Column = list[float | None]
"""One value per evaluation time; None where the series has none."""


@dataclass(frozen=True, slots=True)
class Grid:
    """`count` evaluation times, `step_ms` apart, from `start_ms`."""

    start_ms: int
    step_ms: int
    count: int

    @property
    def times(self) -> range:
        """The evaluation times in epoch milliseconds."""
        return range(self.start_ms, self.start_ms + self.step_ms * self.count, self.step_ms)


def instant(at_ms: int) -> Grid:
    """Give the grid of one time."""
    return Grid(at_ms, 1, 1)


def every(start_ms: int, end_ms: int, step_ms: int) -> Grid:
    """Give the grid from `start_ms` to at most `end_ms`, both included where the step allows."""
    return Grid(start_ms, step_ms, (end_ms - start_ms) // step_ms + 1)


@dataclass(slots=True)
class Scalar:
    """A number at each evaluation time."""

    column: list[float]


@dataclass(slots=True)
class Vector:
    """A column for each label set."""

    columns: dict[Labels, Column] = field(default_factory=dict)

    def add(self, labels: Labels, column: Column) -> None:
        """Put `column` under `labels`. Raises ExecutionFailed where both have a value at the same time."""
        present = self.columns.get(labels)
        if present is None:
            self.columns[labels] = column
            return
        for index, value in enumerate(column):
            if value is None:
                continue
            if present[index] is not None:
                raise ExecutionFailed("vector cannot contain metrics with the same labelset")
            present[index] = value


@dataclass(slots=True)
class Bill:
    """Counts the samples that one query touches, against the ceiling."""

    touched: int = 0

    def add(self, samples: int) -> None:
        """Count `samples` more. Raises ExecutionFailed, in Prometheus' words, above the ceiling."""
        self.touched += samples
        if self.touched > bounds.MAX_SAMPLES:
            raise ExecutionFailed(
                "query processing would load too many samples into memory in query execution",
            )
