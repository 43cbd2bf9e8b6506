"""What a human answers, before it is recorded: text of somebody, sanitised, without secrets, under a cap."""

from __future__ import annotations

from inquest.domain.budget import MAX_ANSWER_CHARS
from inquest.wire.redaction import Redactor
from inquest.wire.sanitise import clean


class UnfitAnswer(Exception):
    """The answer cannot be taken; says why, without a word of it."""


def fit_answer(text: str, redactor: Redactor) -> str:
    """Give `text` as it may be recorded and shown to a model. Raises UnfitAnswer: one that is too long is not cut."""
    if len(text) > MAX_ANSWER_CHARS:
        msg = f"longer than {MAX_ANSWER_CHARS} characters"
        raise UnfitAnswer(msg)
    fit = redactor.text(clean(text).text).strip()
    if not fit:
        msg = "holds no text"
        raise UnfitAnswer(msg)
    return fit
