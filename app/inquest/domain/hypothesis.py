"""Hypotheses as opened, and the ledger that the `judge` calls write."""

from __future__ import annotations

from typing import Literal

from inquest.domain.value import Value

Judgement = Literal["supported", "refuted", "open"]


class Hypothesis(Value):
    """A possible cause, with the observation that would refute it. `name` is h1, h2 .. in opening order."""

    name: str
    text: str
    refuted_by: str
    category: str = ""


class LedgerEntry(Value):
    """A hypothesis and how it stands; `evidence` are display names (E1 ..) of what was cited for it."""

    hypothesis: Hypothesis
    judgement: Judgement = "open"
    evidence: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_judged(self) -> bool:
        """Say whether anybody has said anything of it: "open" with a reason is something said."""
        return self.judgement != "open" or bool(self.reason)


class Ledger(Value):
    """All hypotheses in opening order: the fold of the plan, open_hypothesis and judge calls."""

    entries: tuple[LedgerEntry, ...] = ()
