"""What a request may cost at most, and whether that can be paid for before it is sent. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from inquest.domain.budget import Limits
from inquest.domain.value import Value

Price = Callable[[int, int], int]
"""Gives the most, in millionths of a dollar, that so many tokens asked and so many answered cost."""


class Cost(Value):
    """Tokens and millionths of a dollar: used, or the most that one request may use."""

    tokens: int
    usd_micros: int


def costs_nothing(_asked: int, _answered: int) -> int:
    """Give the price of whoever asks nobody."""
    return 0


def most_of(request_tokens: int, answer_tokens: int, price: Price, *, dearest_usd_micros: int = 0) -> Cost:
    """Give the most that a request may cost with an answer of `answer_tokens`; none of both for one that is not sent.

    In dollars no less than the dearest turn so far: a price may be unknown here, what was paid is not.
    """
    answered = answer_tokens if request_tokens else 0
    return Cost(tokens=request_tokens + answered, usd_micros=max(price(request_tokens, answered), dearest_usd_micros))


def short_of(used: Cost, ask: Cost, limits: Limits, *, asks: int = 1) -> Literal["max_tokens", "max_usd"] | None:
    """Name the ceiling that `asks` requests like `ask` would cross, None when all of them can be paid for."""
    if used.tokens + ask.tokens * asks > limits.max_tokens:
        return "max_tokens"
    if used.usd_micros + ask.usd_micros * asks > limits.max_usd_micros:
        return "max_usd"
    return None
