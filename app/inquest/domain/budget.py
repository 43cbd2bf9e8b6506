"""Ceilings and running totals. Every constant of the loop is here, once."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from inquest.domain.value import Instant, Value

MAX_AGENT_TOOL_SCHEMAS = 32
MAX_SECONDARY_FALLBACK_TOOLS = 3
MAX_INVESTIGATION_LOOPS = 20
"""Model turns of the loop, the forced tool-less one included."""
MAX_OTHER_MODEL_TURNS = 4
"""Extract, diagnose and its repair have these, beside the loop's."""
MAX_STAGNANT_ITERATIONS = 2
TOOL_BUDGET = 10
MAX_TOOL_CALLS = 60
"""Connector effects: seeds, tries and repeated dispatches included, internal calls not."""
MAX_CONCURRENT_CALLS = 8
MAX_CALLS_IN_TURN = 40
MAX_LISTED_CALLS = 200
"""Calls of one reply past MAX_CALLS_IN_TURN are refused one by one up to here; those beyond are only counted."""
MAX_CONCLUSION_NUDGES = 2
MAX_HYPOTHESES = 6
MAX_QUESTIONS = 3
"""The most that `max_questions` may be: each one may hold an investigation up for a week."""
MAX_QUESTION_CHARS = 600
MAX_ANSWER_CHARS = 4_000
"""Of what a human answers; a longer one is refused, not cut."""
MAX_DISPATCHES = 3
MAX_ATTEMPTS = 5
WALL_CLOCK = timedelta(minutes=10)
CONCLUDING_RESERVE = timedelta(seconds=120)
"""Set aside for the last turn, diagnose and its repair."""
MAX_TOKENS = 400_000
MAX_USD_MICROS = 2_000_000
RESULT_CONTEXT_SHARE = 0.10
"""The share of the model's window that one tool result may take."""
SCHEMA_CONTEXT_SHARE = 0.25
MAX_ARGUMENT_BYTES = 16_384
"""Arguments of one call above this are refused as invalid_query, unparsed."""
MAX_REPLY_BYTES = 262_144
MAX_CONTENT_BYTES = 16 * 1024 * 1024
"""One stored content; the transport's cap is the same."""
MAX_HELD_CONTENT_BYTES = 48 * 1024 * 1024
"""Full contents of evidence that are held in memory at once; the first ones admitted are held."""
MAX_MODEL_ATTEMPTS = 3
MODEL_ATTEMPT_TIMEOUT_S = 90.0
MODEL_TURN_TIMEOUT_S = 180.0
"""All attempts of one model turn together, their waits included."""
MAX_QUERY_RETRIES = 2
MAX_RETRY_WAIT_S = 10.0
"""A source that asks for a longer wait is not asked again (design 7)."""


class Limits(Value):
    """The ceilings of one investigation, from configuration, fixed in run_started."""

    max_model_turns: int = Field(default=MAX_INVESTIGATION_LOOPS, ge=1, le=MAX_INVESTIGATION_LOOPS)
    max_connector_effects: int = Field(default=MAX_TOOL_CALLS, ge=0, le=MAX_TOOL_CALLS)
    wall_clock_s: int = Field(default=int(WALL_CLOCK.total_seconds()), ge=10, le=3_600)
    max_tokens: int = Field(default=MAX_TOKENS, ge=1_000)
    max_usd_micros: int = Field(default=MAX_USD_MICROS, ge=0)
    context_window_tokens: int = Field(default=128_000, ge=4_000)
    max_output_tokens: int = Field(default=4_096, ge=256)
    max_questions: int = Field(default=0, ge=0, le=MAX_QUESTIONS, exclude_if=lambda most: most == 0)
    """Of a human. Left out where nobody may be asked: so it is written as it was before there were questions."""


class PlanBudget(Value):
    """The part of the ceilings that plan_committed fixes for ever (checklist 36)."""

    max_model_turns: int
    max_connector_effects: int
    deadline_at: Instant


class Spend(Value):
    """Running totals of one investigation. Unknown tokens and dollars are counted apart, never as 0."""

    model_turns: int = 0
    connector_effects: int = 0
    internal_calls: int = 0
    replayed_calls: int = 0
    refused_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd_micros: int = 0
    turns_of_unknown_usage: int = 0
    turns_of_unknown_cost: int = 0
