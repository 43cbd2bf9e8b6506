"""The most that a model can cost: what the turns can use, and never more than the ceilings."""

from __future__ import annotations

import pytest

from inquest.bootstrap.foresight.foreseen import Worst
from inquest.bootstrap.foresight.money import worst_of
from inquest.domain.budget import Limits
from inquest.stages.cost import costs_nothing


def price(asked: int, answered: int) -> int:
    """Take a dollar for a million tokens asked and ten for a million answered."""
    return asked + 10 * answered


LIMITS = Limits(
    max_model_turns=1, context_window_tokens=10_000, max_output_tokens=1_000, max_tokens=1_000_000,
    max_usd_micros=1_000_000,
)  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "worst"),
    [
        (LIMITS, Worst(requests=5, tokens=55_000, usd_micros=50_000 + 50_000)),
        (LIMITS.but(max_tokens=20_000), Worst(requests=5, tokens=20_000, usd_micros=15_000 + 50_000)),
        (LIMITS.but(max_tokens=4_000), Worst(requests=5, tokens=4_000, usd_micros=40_000)),
        (LIMITS.but(max_usd_micros=70_000), Worst(requests=5, tokens=55_000, usd_micros=70_000)),
    ],
    ids=["what the turns can use", "the ceiling of tokens", "of which all may be answers", "the ceiling of dollars"],
)
def test_the_worst_case_is_bounded_by_turns_tokens_and_dollars(limits: Limits, worst: Worst) -> None:
    assert worst_of(limits, price) == worst


def test_what_costs_nothing_costs_nothing() -> None:
    assert worst_of(Limits(), costs_nothing).usd_micros == 0


def test_where_asking_is_dearer_than_answering_all_is_asked() -> None:
    assert worst_of(LIMITS, lambda asked, answered: 10 * asked + answered).usd_micros == 550_000
