"""What tokens cost: the configured price first, then litellm's table of the installed release.

Unknown is None, never 0: an unknown price must not look free.
"""

from __future__ import annotations

import math

from inquest.domain.transcript import Usage
from inquest.domain.value import Value


class Price(Value):
    """Dollars per million tokens."""

    input_usd: float
    output_usd: float


def cost_usd_micros(usage: Usage, price: Price | None) -> int | None:
    """Give millionths of a dollar, rounded up, or None when usage or price is unknown.

    A dollar per million tokens is a millionth of a dollar per token, so the price multiplies directly.
    """
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    return math.ceil(usage.input_tokens * price.input_usd + usage.output_tokens * price.output_usd)
