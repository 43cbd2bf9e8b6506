"""The validity score: how far the evidence carries a diagnosis. Computed by code, never told by a model.

    score = min(ceiling, (0.40 * share + 0.25 * sources + 0.15 * order + 0.20 * coverage) / (1 + contradictions))

`share` is the validated part of the claims, `sources` the independent sources up to three, `order` is 1 when
the cause was shown to precede the onset, 0 when it was shown not to, one half when neither was. Without one
validated claim the score is 0: then nothing is known, however well covered. `ceiling` is 0.80 where all that is
cited came from one integration, else 1: many series of one Prometheus bear each other out, but share its clock, its
scrapes and its relabelling, and nobody else was asked.

The weights are engineering judgement: what is proven counts most, then how independently, then how much was
looked at. It is no probability, and says nothing about claims that nobody made.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inquest.domain.value import Value

WEIGHT_SHARE = 0.40
WEIGHT_SOURCES = 0.25
WEIGHT_ORDER = 0.15
WEIGHT_COVERAGE = 0.20
ENOUGH_SOURCES = 3
"""More independent sources than these add nothing."""
CEILING_OF_ONE = 0.80
"""What evidence of one integration alone comes to at most."""
DIGITS = 3

TimeOrder = Literal["holds", "unknown", "violated"]
_ORDER: dict[TimeOrder, float] = {"holds": 1.0, "unknown": 0.5, "violated": 0.0}


class ScoreInputs(Value):
    """What the score is computed from. `coverage` is the share of asked and connected that was answered.

    `integrations` counts the connections that the evidence came through, `independent_sources` the witnesses.
    """

    validated: int = Field(ge=0)
    non_validated: int = Field(ge=0)
    independent_sources: int = Field(ge=0)
    integrations: int = Field(ge=0)
    time_order: TimeOrder
    contradictions: int = Field(ge=0)
    coverage: float = Field(ge=0, le=1)


def validity_score(inputs: ScoreInputs) -> float:
    """Give the score in [0, 1], to three digits. The formula stands at the top of this module."""
    if inputs.validated == 0:
        return 0.0
    share = inputs.validated / (inputs.validated + inputs.non_validated)
    sources = min(inputs.independent_sources, ENOUGH_SOURCES) / ENOUGH_SOURCES
    whole = (
        WEIGHT_SHARE * share
        + WEIGHT_SOURCES * sources
        + WEIGHT_ORDER * _ORDER[inputs.time_order]
        + WEIGHT_COVERAGE * inputs.coverage
    )
    return round(min(ceiling(inputs.integrations), whole / (1 + inputs.contradictions)), DIGITS)


def ceiling(integrations: int) -> float:
    """Give what a score can come to at most when evidence came through so many integrations."""
    return 1.0 if integrations > 1 else CEILING_OF_ONE
