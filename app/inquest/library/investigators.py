"""Who decides the next turn, as a host makes it: a model with the prompts that ship with Inquest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inquest.domain.transcript import ModelRequest
from inquest.investigators.analyst import ANALYST
from inquest.investigators.with_model import PROMPTS, ModelInvestigator
from inquest.ports import Investigator, Model
from inquest.resources import config_dir
from inquest.stages.cost import Price, costs_nothing
from inquest.stages.gather_evidence.limits import BYTES_A_TOKEN


def create_model_investigator(model: Model, models: Sequence[str]) -> ModelInvestigator:
    """Give the investigator that asks `model`, which speaks for the ordered list `models`, as it calls them.

    Its prompts are those of this installation; a resumed investigation uses those that it began with. Raises
    ConfigurationError when the installation lacks them.
    """
    folder = config_dir() / "prompts"
    prompts = {name: (folder / f"{name}.md").read_text("utf-8") for name in PROMPTS}
    return ModelInvestigator(model, tuple(models), prompts)


def prompts_of(investigator: Investigator) -> dict[str, bytes]:
    """Give the prompts that an investigation with `investigator` fixes at its start."""
    if not isinstance(investigator, ModelInvestigator):
        return {}
    return {name: text.encode() for name, text in investigator.prompts.items()}


def token_counter(investigator: Investigator) -> Callable[[ModelRequest], int]:
    """Give what counts the tokens of a request: the model's own count, nothing for the analyst, else an upper estimate."""
    if isinstance(investigator, ModelInvestigator):
        return investigator.model.count_tokens
    return _nothing if investigator.models == (ANALYST,) else _estimate


def price_of(investigator: Investigator) -> Price:
    """Give what a request may cost at most: the model's own word; an investigator that asks no model of ours is free."""
    return investigator.model.most_usd_micros if isinstance(investigator, ModelInvestigator) else costs_nothing


def _nothing(_: ModelRequest) -> int:
    return 0


def _estimate(request: ModelRequest) -> int:
    return int(len(request.canonical()) / BYTES_A_TOKEN) + 1
