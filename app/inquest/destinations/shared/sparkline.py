"""The course of a series in one small picture: as text and as SVG, with a mark at the onset.

Columns keep the sample furthest from the median, so that a spike between two columns is not averaged away.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from inquest.domain.value import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from inquest.domain.observation import Observation
    from inquest.domain.value import Json

COLUMNS = 48
TEXT_COLUMNS = 24
MAX_DRAWN_BYTES = 2_097_152
"""A longer content is drawn from what the observation shows of it."""
BARS = "▁▂▃▄▅▆▇█"
GAP = "·"
ONSET = "│"
WIDTH, HEIGHT, PAD = 192, 36, 2


@dataclass(frozen=True, slots=True)
class Shape:
    """Columns of values (None: no sample), their extremes, and the column before which the onset lies."""

    columns: tuple[float | None, ...]
    low: float
    high: float
    onset: int | None = None
    series: int = 1
    drawn: int = 0
    """How many series the content has, and which one (from 0) is drawn."""


def shape_of(
    observation: Observation, raw: bytes | None, *, drawn: int = 0, onset: datetime | None = None
) -> Shape | None:
    """Give the shape of a matrix's series `drawn`, or of log lines over time; None for other content."""
    document = _document(observation, raw)
    if not isinstance(document, dict):
        return None
    start, end = epoch_ms(observation.time_range.start), epoch_ms(observation.time_range.end)
    match document.get("kind"), document.get("series"), document.get("lines"):
        case "matrix", [_, *_] as found, _:
            index = drawn if drawn < len(found) else 0
            points = _points(found[index])
            shape = _columns(points, start, end)
        case "logs", _, [_, *_] as lines:
            found, index = lines[:1], 0
            shape = _counts([at for line in lines if (at := _time(line)) is not None], start, end)
        case _:
            return None
    values = [value for value in shape if value is not None]
    if not values:
        return None
    column = None if onset is None else _column(epoch_ms(onset), start, end, len(shape))
    return Shape(tuple(shape), min(values), max(values), column, series=len(found), drawn=index)


def as_text(shape: Shape) -> str:
    """Draw a shape in block characters, `ONSET` standing before the column of the onset."""
    step = max(len(shape.columns) // TEXT_COLUMNS, 1)
    signs: list[str] = []
    for start in range(0, len(shape.columns), step):
        if shape.onset is not None and start <= shape.onset < start + step:
            signs.append(ONSET)
        signs.append(_bar(_furthest(shape.columns[start : start + step]), shape))
    return "".join(signs)


def as_svg(shape: Shape) -> str:
    """Draw a shape as an SVG element of numbers only; gaps break the line, the onset is a dashed one."""
    width = (WIDTH - 2 * PAD) / max(len(shape.columns) - 1, 1)
    runs: list[list[str]] = [[]]
    for column, value in enumerate(shape.columns):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(f"{PAD + column * width:.1f},{_height(value, shape):.1f}")
    lines = "".join(
        f'<polyline class="course" points="{" ".join(run if len(run) > 1 else run * 2)}"/>' for run in runs if run
    )
    mark = ""
    if shape.onset is not None:
        at = f"{PAD + shape.onset * width:.1f}"
        mark = f'<line class="onset" x1="{at}" y1="0" x2="{at}" y2="{HEIGHT}"/>'
    return f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-hidden="true">{mark}{lines}</svg>'


def said(value: float) -> str:
    """Write a value shortly, as in `0.0123` or `1.5e+06`."""
    return f"{value:.4g}"


def _document(observation: Observation, raw: bytes | None) -> Json:
    if raw is None or len(raw) > MAX_DRAWN_BYTES:
        return observation.content.body
    try:
        parsed: Json = json.loads(raw)
    except (ValueError, RecursionError):
        return observation.content.body
    return parsed


def _points(series: Json) -> list[tuple[int, float]]:
    points = series.get("points") if isinstance(series, dict) else None
    found: list[tuple[int, float]] = []
    for point in points if isinstance(points, list) else ():
        match point:
            case [int(at), int() | float() as value]:
                found.append((at, float(value)))
            case _:
                continue
    return found


def _time(line: Json) -> int | None:
    at = line.get("time") if isinstance(line, dict) else None
    return at if isinstance(at, int) else None


def _column(at: int, start: int, end: int, columns: int) -> int | None:
    return (at - start) * columns // (end - start) if start <= at < end else None


def _columns(points: Sequence[tuple[int, float]], start: int, end: int) -> list[float | None]:
    """Put each column's sample furthest from the median into it; fewer columns for fewer samples."""
    inside = [(at, value) for at, value in points if start <= at < end]
    if not inside:
        return []
    steps = [later[0] - earlier[0] for earlier, later in pairwise(inside)]
    expected = (end - start) // max(min(steps, default=end - start), 1)
    count = max(min(COLUMNS, expected), 1)
    middle = median(value for _, value in inside)
    columns: list[float | None] = [None] * count
    for at, value in inside:
        column = _column(at, start, end, count) or 0
        held = columns[column]
        if held is None or abs(value - middle) > abs(held - middle):
            columns[column] = value
    return columns


def _counts(times: Sequence[int], start: int, end: int) -> list[float | None]:
    columns = [0.0] * COLUMNS
    for at in times:
        column = _column(at, start, end, COLUMNS)
        if column is not None:
            columns[column] += 1
    return list(columns)


def _furthest(values: Sequence[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return max(found, key=abs) if found else None


def _bar(value: float | None, shape: Shape) -> str:
    if value is None:
        return GAP
    if shape.high == shape.low:
        return BARS[0]
    return BARS[round((value - shape.low) / (shape.high - shape.low) * (len(BARS) - 1))]


def _height(value: float, shape: Shape) -> float:
    if shape.high == shape.low:
        return HEIGHT / 2
    return HEIGHT - PAD - (value - shape.low) / (shape.high - shape.low) * (HEIGHT - 2 * PAD)
