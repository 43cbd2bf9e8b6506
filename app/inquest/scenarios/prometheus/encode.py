"""Query results as Prometheus 2.x writes them into JSON."""

from __future__ import annotations

from inquest.scenarios.http import go_json
from inquest.scenarios.numbers import plain_value, sample_time, sample_value
from inquest.scenarios.promql.evaluate import Matrix
from inquest.scenarios.promql.grid import Scalar, Vector
from inquest.scenarios.promql.samples import Labels


def result_json(value: Scalar | Vector | Matrix, at_ms: int) -> str:
    """Write the `data` of a query's answer; `at_ms` is the evaluation time of an instant query."""
    match value:
        case Scalar():
            seconds = sample_time(at_ms).rstrip("0") if at_ms % 1000 else sample_time(at_ms)
            return f'{{"resultType":"scalar","result":[{seconds},"{plain_value(value.column[0])}"]}}'
        case Vector():
            rows = ",".join(
                f'{{"metric":{_metric(labels)},"value":{_point(at_ms, column[0])}}}'
                for labels, column in sorted(value.columns.items())
                if column[0] is not None
            )
            return f'{{"resultType":"vector","result":[{rows}]}}'
        case Matrix():
            rows = ",".join(
                f'{{"metric":{_metric(labels)},"values":[{",".join(_point(at, number) for at, number in points)}]}}'
                for labels, points in value.series
            )
            return f'{{"resultType":"matrix","result":[{rows}]}}'


def _metric(labels: Labels) -> str:
    return go_json(dict(labels))


def _point(at_ms: int, value: float) -> str:
    return f'[{sample_time(at_ms)},"{sample_value(value)}"]'
