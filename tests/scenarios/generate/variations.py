"""Variations of the incident for tests, by their story, and questions to them."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from itertools import count, islice

from inquest.domain.value import epoch_ms
from inquest.scenarios.generate.checkout_pool import generate
from inquest.scenarios.generate.play import Play, play
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Story, story_of
from inquest.scenarios.loki.lines import Lines
from inquest.scenarios.loki.logql import LogQuery
from inquest.scenarios.loki.logql import parse as parse_logql
from inquest.scenarios.pack.format import Scenario
from inquest.scenarios.promql.evaluate import evaluate_range
from inquest.scenarios.promql.grid import every
from inquest.scenarios.promql.parse import parse
from inquest.scenarios.promql.samples import Samples

MINUTE = timedelta(minutes=1)


def seeds_of(story: Story, how_many: int = 1) -> list[int]:
    """Give the first seeds that tell `story`."""
    return list(islice((seed for seed in count() if story_of(seed) is story), how_many))


SEEDS = [seed for story in Story for seed in seeds_of(story)]
"""One of each story."""


@cache
def drawn(seed: int) -> Play:
    return play(seed)


@cache
def recording(seed: int) -> Scenario:
    return generate(seed)


@cache
def samples(seed: int) -> Samples:
    return Samples(recording(seed).series)


def onset(seed: int) -> datetime:
    began = recording(seed).header.truth.onset
    assert began is not None
    return began


def values(seed: int, expression: str, start: datetime, end: datetime) -> list[tuple[int, float]]:
    """All points of all series, by time."""
    grid = every(epoch_ms(start), epoch_ms(end), 30_000)
    matrix = evaluate_range(parse(expression), samples(seed), grid, horizon_ms=epoch_ms(end))
    return sorted(point for _, points in matrix.series for point in points)


def lines(seed: int, query: str, start: datetime, end: datetime) -> int:
    parsed = parse_logql(query)
    assert isinstance(parsed, LogQuery)
    held = Lines(recording(seed).streams)
    span = epoch_ms(start) * 1_000_000, epoch_ms(end) * 1_000_000
    return len(held.select(parsed, *span, limit=100_000, forward=True))


def where(seed: int, part: Part, more: str = "") -> str:
    """Give the selector of a part, in braces."""
    scope = drawn(seed).shop.scope(part)
    return "{" + ",".join([*(f'{name}="{value}"' for name, value in scope.items()), *filter(None, [more])]) + "}"


def error_ratio(seed: int, part: Part) -> str:
    shop = drawn(seed).shop
    failed = where(seed, part, f'{shop.status_label}=~"5.."')
    return f"sum(rate({shop.http.requests}{failed}[2m])) / sum(rate({shop.http.requests}{where(seed, part)}[2m]))"


def usual_quantile(seed: int, metric: str, part: Part) -> str:
    return f"histogram_quantile(0.99, sum by (le) (rate({metric}_bucket{where(seed, part)}[2m])))"
