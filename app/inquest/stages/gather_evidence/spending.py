"""Running totals: what a reply and a batch add to the spend."""

from __future__ import annotations

from inquest.domain.budget import Spend
from inquest.domain.effect import EffectKind, EffectState, ModelFailed
from inquest.domain.transcript import Reply
from inquest.stages.gather_evidence.record import Record

BYTES_PER_TOKEN = 3
"""For upper estimates of our own: text in the languages that we meet takes 3 to 4 bytes a token."""


def with_reply(spend: Spend, outcome: Reply | ModelFailed) -> Spend:
    """Add one model effect. Unknown tokens and dollars are counted as unknown, never as 0."""
    if isinstance(outcome, ModelFailed):
        return spend.but(model_turns=spend.model_turns + 1, turns_of_unknown_usage=spend.turns_of_unknown_usage + 1)
    usage = outcome.usage
    known = usage.input_tokens is not None and usage.output_tokens is not None
    return spend.but(
        model_turns=spend.model_turns + 1,
        input_tokens=spend.input_tokens + (usage.input_tokens or 0),
        output_tokens=spend.output_tokens + (usage.output_tokens or 0),
        usd_micros=spend.usd_micros + (outcome.cost_usd_micros or 0),
        turns_of_unknown_usage=spend.turns_of_unknown_usage + (not known),
        turns_of_unknown_cost=spend.turns_of_unknown_cost + (outcome.cost_usd_micros is None),
    )


def guarded_tokens(outcome: Reply | ModelFailed, request_tokens: int) -> int:
    """Give what a turn counts against the token ceiling: the provider's figures, or our upper estimate."""
    if isinstance(outcome, ModelFailed):
        return 0
    written = sum(len(call.arguments.encode()) + len(call.name) for call in outcome.tool_calls)
    estimate = (len(outcome.content.encode()) + written) // BYTES_PER_TOKEN + 1
    asked = outcome.usage.input_tokens
    said = outcome.usage.output_tokens
    return (request_tokens if asked is None else asked) + (estimate if said is None else said)


def spend_of_models(record: Record, prefix: str) -> Spend:
    """Total the committed model effects whose keys begin with `prefix` ("extract/", "diagnose/")."""
    spend = Spend()
    for key, row in sorted(record.effects.items()):
        if key.startswith(prefix) and row.kind is EffectKind.MODEL and row.state is EffectState.COMMITTED:
            spend = with_reply(spend, record.reply(row.outcome_digest or "", key))
    return spend


def total(first: Spend, second: Spend) -> Spend:
    """Add two totals."""
    return Spend(**{name: getattr(first, name) + getattr(second, name) for name in Spend.model_fields})


def effects_of(record: Record, key: str, tries: int) -> int:
    """Count the connector effects of one planned call: every dispatch of every taking, and the tries inside."""
    return sum(row.dispatches for row in record.takings(key)) + max(tries - 1, 0)
