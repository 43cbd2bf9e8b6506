"""A model, and an investigator, that follow a script: for tests and for hosts that try the library out.

They keep the ports' promises: the same view always gets the same request, a failure is a ModelError, a
cancellation passes. What was asked is kept in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inquest.domain.transcript import ModelRequest, Reply, SystemText
from inquest.errors import InvariantBroken, ModelError
from inquest.ports import LoopView

Line = Reply | ModelError
"""What the script says: a reply, or the error to raise."""

BYTES_A_TOKEN = 4
SYSTEM_TEXT = "You investigate an incident. Ask for evidence with tools, judge each hypothesis, then conclude."


def in_order(lines: Sequence[Line]) -> Callable[[LoopView], Line]:
    """Follow `lines` by the number of the turn, so that a worker that resumes reads on; the last one repeats."""
    if not lines:
        msg = "a script has at least one line"
        raise InvariantBroken(msg)
    return lambda view: lines[min(view.turn, len(lines)) - 1]


class ScriptedModel:
    """`ports.Model` whose answers are given beforehand, one a request; the last one repeats."""

    def __init__(self, lines: Sequence[Line], *, window_tokens: int = 128_000) -> None:
        self._lines = list(lines)
        self._window_tokens = window_tokens
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Answer with the next line. Raises the line when it is an error."""
        self.requests.append(request)
        return _said(self._lines[min(len(self.requests), len(self._lines)) - 1])

    def count_tokens(self, request: ModelRequest) -> int:
        """Count BYTES_A_TOKEN bytes of the request as a token."""
        return count_tokens(request)

    def window_tokens(self) -> int:
        """Give the window that the script was made for."""
        return self._window_tokens

    def most_usd_micros(self, input_tokens: int, output_tokens: int) -> int:  # noqa: ARG002  # the port's
        """Cost nothing."""
        return 0


class ScriptedInvestigator:
    """`ports.Investigator` that answers a turn with what `script` says to its view, and diagnoses with `diagnosis`."""

    def __init__(self, script: Callable[[LoopView], Line], *, diagnosis: Line | None = None) -> None:
        self._script = script
        self._diagnosis = diagnosis
        self.requests: list[ModelRequest] = []
        self.views: list[LoopView] = []

    @property
    def models(self) -> tuple[str, ...]:
        """Give the script's name."""
        return ("scripted",)

    def request(self, view: LoopView) -> ModelRequest:
        """Write the turn as the view has it."""
        return ModelRequest(
            purpose="turn",
            models=self.models,
            messages=(SystemText(text=SYSTEM_TEXT), *view.messages),
            tools=view.tools,
            tool_choice="none" if view.last else "auto",
            max_output_tokens=view.max_output_tokens,
        )

    async def answer(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Say the line for `view`."""
        self.requests.append(request)
        self.views.append(view)
        return _said(self._script(view))

    def diagnose_request(self, view: LoopView) -> ModelRequest:
        """Write the request for the diagnosis."""
        return self.request(view).but(purpose="diagnose", tools=(), tool_choice="none")

    async def diagnose(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Say the diagnosis. Raises InvariantBroken when the script has none."""
        self.requests.append(request)
        if self._diagnosis is None:
            msg = "the script has no diagnosis"
            raise InvariantBroken(msg)
        return _said(self._diagnosis)


def count_tokens(request: ModelRequest) -> int:
    """Count BYTES_A_TOKEN bytes of the request as a token."""
    return len(request.canonical()) // BYTES_A_TOKEN + 1


def _said(line: Line) -> Reply:
    if isinstance(line, ModelError):
        raise line
    return line
