"""Why an expression is not answered: the reason decides the HTTP status."""

from __future__ import annotations

from inquest.errors import InquestError


class ExpressionRefused(InquestError):
    """An expression that gets no answer; the message is fit for the error body."""


class ParseFailed(ExpressionRefused):
    """Not PromQL, or of the wrong types: 400 bad_data."""


class Unsupported(ExpressionRefused):
    """PromQL outside the stated subset: 422 execution."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the recorded backend does not evaluate {what}")
        self.what = what


class ExecutionFailed(ExpressionRefused):
    """PromQL that cannot be computed over these samples: 422 execution."""
