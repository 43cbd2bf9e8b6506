"""The analyst: investigates without a model, by rule, through the same loop and to the same report.

Each turn it reads the evidence values themselves (`appraisal`), asks what is missing (`playbook`), judges the
hypotheses (`judging`), and in the end proposes a diagnosis whose every sentence is rendered from a typed claim
(`proposing`, `wording`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.transcript import ModelRequest, Reply, UserText
from inquest.investigators.analyst.appraisal import appraise
from inquest.investigators.analyst.judging import judge_calls
from inquest.investigators.analyst.playbook import next_calls
from inquest.investigators.analyst.proposing import propose
from inquest.stages.diagnosis_wire import write_proposal

if TYPE_CHECKING:
    from inquest.ports import LoopView

ANALYST = "analyst"
"""Who answers, as reports and run_started say it."""


class Analyst:
    """An Investigator that needs no model. It costs nothing and gives the same answer to the same evidence.

    It reads in a thread: evidence of tens of megabytes takes seconds, and the worker's event loop has leases to
    keep meanwhile.
    """

    @property
    def models(self) -> tuple[str, ...]:
        """Name who answers."""
        return (ANALYST,)

    def request(self, view: LoopView) -> ModelRequest:
        """Write down what the turn is decided on, so that a resumed worker decides the same."""
        return self._asked("turn", view)

    async def answer(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Ask what is missing, then judge, then conclude."""
        return await asyncio.to_thread(_answer, view)

    def diagnose_request(self, view: LoopView) -> ModelRequest:
        """Write down what the diagnosis is made from."""
        return self._asked("diagnose", view)

    async def diagnose(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Give the proposal in the wire form that a model would write."""
        return await asyncio.to_thread(_diagnosis, view)

    def _asked(self, purpose: str, view: LoopView) -> ModelRequest:
        seen = digest_of(canonical_json([item.observation_id for item in view.evidence]))
        calls = [exchange.key for exchange in view.exchanges]
        text = canonical_json({"turn": view.turn, "last": view.last, "evidence": seen, "calls": list(calls)}).decode()
        return ModelRequest.model_validate(
            {"purpose": purpose, "models": self.models, "messages": (UserText(text=text),), "tools": ()}
        )


def _answer(view: LoopView) -> Reply:
    found = appraise(view)
    calls = () if view.last or found is None else next_calls(view) or judge_calls(view, found)
    content = "" if calls else propose(found).root_cause
    return Reply(content=content, tool_calls=calls, finish_reason="stop", model=ANALYST, cost_usd_micros=0)


def _diagnosis(view: LoopView) -> Reply:
    return Reply(content=write_proposal(propose(appraise(view))), model=ANALYST, cost_usd_micros=0)
