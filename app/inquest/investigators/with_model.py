"""The investigator that asks a language model: it renders the view as a request, and the model answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquest.domain.transcript import ModelRequest, SystemText, UserText
from inquest.stages.diagnosis_schema import DIAGNOSIS_SCHEMA

if TYPE_CHECKING:
    from inquest.domain.transcript import Reply
    from inquest.ports import LoopView, Model

PROMPTS = ("investigate", "diagnose")
"""The prompts it needs, by name: config/prompts/NAME.md."""
WRITE_IT = "Write the diagnosis now, as one JSON object."


@dataclass(frozen=True)
class ModelInvestigator:
    """An Investigator over `model`. `prompts` are the texts that run_started fixed for this investigation."""

    model: Model
    models: tuple[str, ...]
    prompts: dict[str, str]

    def request(self, view: LoopView) -> ModelRequest:
        """Write the next turn: our instructions, the conversation, and the tools on offer."""
        return ModelRequest(
            purpose="turn",
            models=self.models,
            messages=(SystemText(text=self.prompts["investigate"]), *view.messages),
            tools=view.tools,
            tool_choice="none" if view.last else "auto",
            max_output_tokens=view.max_output_tokens,
        )

    async def answer(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Ask the model. Raises ModelError."""
        return await self.model.complete(request, timeout_s=timeout_s)

    def diagnose_request(self, view: LoopView) -> ModelRequest:
        """Write the request for the structured diagnosis: no tools, a closed schema."""
        return ModelRequest(
            purpose="diagnose",
            models=self.models,
            messages=(SystemText(text=self.prompts["diagnose"]), *view.messages, UserText(text=WRITE_IT)),
            tool_choice="none",
            max_output_tokens=view.max_output_tokens,
            response_schema=DIAGNOSIS_SCHEMA,
        )

    async def diagnose(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:  # noqa: ARG002  # the port's
        """Ask the model. Raises ModelError."""
        return await self.model.complete(request, timeout_s=timeout_s)
