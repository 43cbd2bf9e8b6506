"""The most that an investigation can spend on a model: the ceilings, or less where the turns cannot reach them. Pure."""

from __future__ import annotations

from inquest.bootstrap.foresight.foreseen import Worst
from inquest.domain.budget import MAX_OTHER_MODEL_TURNS, Limits
from inquest.stages.cost import Price

NOBODY = Worst(requests=0, tokens=0, usd_micros=0)
"""Of the analyst, who asks no model."""


def worst_of(limits: Limits, price: Price) -> Worst:
    """Give the most of requests, tokens and dollars; `price` is the dearest model's.

    Every request is as large as the window and its answer as long as allowed, until a ceiling ends it. Tokens of the
    answer are taken to the full and the rest as asked: the dearer direction cannot be used more.
    """
    requests = limits.max_model_turns + MAX_OTHER_MODEL_TURNS
    most_answered = requests * limits.max_output_tokens
    tokens = min(limits.max_tokens, requests * limits.context_window_tokens + most_answered)
    answered = min(tokens, most_answered)
    usd_micros = max(price(tokens - answered, answered), price(tokens, 0))
    return Worst(requests=requests, tokens=tokens, usd_micros=min(limits.max_usd_micros, usd_micros))
