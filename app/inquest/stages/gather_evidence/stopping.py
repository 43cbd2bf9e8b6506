"""When the loop stops: ceilings less what concluding costs, stagnation, and whether a conclusion counts. Pure."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import assert_never

from inquest.domain.budget import CONCLUDING_RESERVE, MAX_CONCLUSION_NUDGES, MAX_STAGNANT_ITERATIONS, Limits
from inquest.domain.event import CeilingReached, Nudge, Steering, ToolsWithdrawn
from inquest.domain.investigation import StopReason
from inquest.domain.observation import Signal
from inquest.errors import BudgetExhausted
from inquest.stages.cost import Cost, Price, most_of, short_of
from inquest.stages.gather_evidence.internal_tools import unjudged
from inquest.stages.gather_evidence.limits import answer_tokens
from inquest.stages.gather_evidence.state import LoopState
from inquest.stages.present import OF_THE_PRESENT, why_not_now

RESERVED_TURNS = 3
"""Model turns that concluding may take: the last one of the loop, diagnose and its repair."""
RESERVE_SHARE = 0.2
"""A short wall clock sets aside this share of itself instead of CONCLUDING_RESERVE."""
WANTED_SIGNALS = 3
LOOKED_AT: tuple[Signal, ...] = ("metrics", "logs", "changes", "alerts", "rules", "traces", "workloads")
"""Signals that count as having looked; names and derived things are about evidence, not of it."""

CEILINGS: dict[str, StopReason] = {
    "deadline_at": "deadline",
    "max_model_turns": "max_turns",
    "max_connector_effects": "max_calls",
    "workspace_usd_a_day": "max_usd",
    "installation_usd_a_day": "max_usd",
}
"""The store's names of ceilings. Dollars are those of the investigation, or of the day."""

NUDGES: dict[str, str] = {
    "stagnant": (
        "That turn brought nothing new: its calls were refused or repeat earlier ones. Ask something that was not "
        "asked yet, judge the hypotheses, or conclude."
    ),
    "unjudged": "Before you conclude, judge every hypothesis with the judge tool. Not judged yet: {names}.",
    "signals": "Before you conclude, ask more kinds of signal. Asked so far: {asked}. Also connected: {left}.",
    "empty_reply": "That reply said nothing. Call a tool, or conclude in words.",
}


# ---- ceilings ------------------------------------------------------------------------------------------


def concluding_reserve(limits: Limits) -> timedelta:
    """Give the time that is set aside for the last turn, diagnose and its repair."""
    return min(CONCLUDING_RESERVE, timedelta(seconds=limits.wall_clock_s) * RESERVE_SHARE)


def ceiling(state: LoopState, now: datetime) -> CeilingReached | None:
    """Give the first ceiling that the next turn with tools would cross, in a fixed order."""
    limits, budget, spend, turn = state.investigation.limits, state.plan.budget, state.spend, state.next_turn

    def reached(name: StopReason, used: float, allowed: float) -> CeilingReached:
        return CeilingReached(turn=turn, ceiling=name, used=used, allowed=allowed)

    started = state.investigation.started_at
    if now >= state.deadline - concluding_reserve(limits):
        return reached("deadline", (now - started).total_seconds(), (state.deadline - started).total_seconds())
    if turn >= budget.max_model_turns:
        return reached("max_turns", len(state.turns), budget.max_model_turns)
    if spend.connector_effects >= budget.max_connector_effects:
        return reached("max_calls", spend.connector_effects, budget.max_connector_effects)
    if spend.usd_micros + state.dearest_turn_usd_micros * (1 + RESERVED_TURNS) > limits.max_usd_micros:
        return reached("max_usd", spend.usd_micros, limits.max_usd_micros)
    return None


def spending_ceiling(state: LoopState, request_tokens: int, price: Price) -> CeilingReached | None:
    """Say whether a turn of `request_tokens` could cross the ceiling of tokens or of dollars.

    While tools are on offer, what concluding costs is set aside, reckoned at the size of this turn.
    """
    limits = state.investigation.limits
    used = Cost(tokens=state.guarded_tokens, usd_micros=state.spend.usd_micros)
    turn = most_of(request_tokens, answer_tokens(limits), price, dearest_usd_micros=state.dearest_turn_usd_micros)
    short = short_of(used, turn, limits, asks=1 if state.withdrawn is not None else 1 + RESERVED_TURNS)
    match short:
        case "max_tokens":
            return CeilingReached(turn=state.next_turn, ceiling=short, used=used.tokens, allowed=limits.max_tokens)
        case "max_usd":
            return CeilingReached(
                turn=state.next_turn, ceiling=short, used=used.usd_micros, allowed=limits.max_usd_micros
            )
        case None:
            return None
        case unknown:
            assert_never(unknown)


def as_ceiling(refused: BudgetExhausted, turn: int) -> CeilingReached:
    """Word what the store refused."""
    ceiling = CEILINGS.get(refused.ceiling, "budget_exhausted")
    return CeilingReached(turn=turn, ceiling=ceiling, used=refused.used, allowed=refused.allowed)


def withdrawal(state: LoopState, reached: CeilingReached) -> tuple[Steering, ...]:
    """Word a ceiling: it is said, and the next turn is the last and has no tools."""
    return (reached, ToolsWithdrawn(turn=state.next_turn, why=reached.ceiling))


# ---- stagnation and conclusions ------------------------------------------------------------------------


def stagnation(state: LoopState) -> tuple[Steering, ...]:
    """Steer after a turn with calls: nothing, a nudge, or a nudge and the end of tools."""
    if not state.stagnant:
        return ()
    nudge = Nudge(turn=state.next_turn, why="stagnant", text=NUDGES["stagnant"])
    if state.stagnant < MAX_STAGNANT_ITERATIONS or state.withdrawn is not None:
        return (nudge,)
    return (nudge, ToolsWithdrawn(turn=state.next_turn, why="stagnant"))


def conclusion_nudge(state: LoopState, content: str, *, decisive: bool) -> Nudge | None:
    """Say what a conclusion lacks; None accepts it. `decisive`: one observation settles a cause by itself."""
    turn = state.next_turn
    if not conclusion_text(content):
        return Nudge(turn=turn, why="empty_reply", text=NUDGES["empty_reply"])
    names = unjudged(state)
    if names:
        return Nudge(turn=turn, why="unjudged", text=NUDGES["unjudged"].format(names=", ".join(names)))
    asked, left = signals_asked(state)
    if left and len(asked) < WANTED_SIGNALS and not decisive:
        text = NUDGES["signals"].format(asked=", ".join(asked) or "none", left=", ".join(left))
        return Nudge(turn=turn, why="signals", text=text)
    return None


def nudges_used_up(state: LoopState) -> bool:
    """Say whether the conclusions that did not count have had their nudges."""
    used = sum(nudge.why != "stagnant" for nudge in state.nudges)
    return used >= MAX_CONCLUSION_NUDGES


def signals_asked(state: LoopState) -> tuple[tuple[Signal, ...], tuple[Signal, ...]]:
    """Give the kinds of signal that were asked (a failed call counts), and those that could be and were not."""
    integrations = state.investigation.integrations
    sources = () if integrations is None else integrations.sources
    connected = {signal for source in sources for signal in source.signals}
    if why_not_now(state.investigation.facts, state.investigation.started_at):
        connected -= OF_THE_PRESENT
    asked = {one.signal for one in state.asked}
    return (
        tuple(signal for signal in LOOKED_AT if signal in asked),
        tuple(signal for signal in LOOKED_AT if signal in connected - asked),
    )


def conclusion_text(content: str) -> str:
    """Give the words of a conclusion; "" for a raw call or an empty structure, which are never published."""
    text = content.strip()
    if not text.startswith(("{", "[")):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return ""
