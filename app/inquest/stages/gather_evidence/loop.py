"""The rules of the loop: what comes next, given the state and the time. Pure; nothing here acts."""

from __future__ import annotations

from datetime import datetime

from inquest.domain.effect import ModelFailed, turn_key
from inquest.domain.event import Steering
from inquest.domain.investigation import Gathered, StopReason
from inquest.domain.planned import PlannedCall
from inquest.domain.value import Value
from inquest.errors import InvariantBroken
from inquest.stages.gather_evidence.absorb import absorb
from inquest.stages.gather_evidence.state import LoopState, Turn, begin
from inquest.stages.gather_evidence.stopping import (
    ceiling,
    conclusion_nudge,
    conclusion_text,
    nudges_used_up,
    stagnation,
    withdrawal,
)

__all__ = ["Ask", "Conclude", "LoopState", "RunBatch", "Select", "Steer", "Step", "absorb", "begin", "next_step"]


class RunBatch(Value):
    """Answer every call of `batch` ("seed" or "turn/7"), then join it."""

    batch: str
    calls: tuple[PlannedCall, ...]


class Select(Value):
    """Choose the first offer of tools."""


class Steer(Value):
    """Record these decisions; they change what the investigator sees next."""

    steerings: tuple[Steering, ...]


class Ask(Value):
    """Ask for turn `turn` under `key`; `last`: tools are withdrawn."""

    turn: int
    key: str
    last: bool


class Conclude(Value):
    """The loop is over."""

    gathered: Gathered


Step = RunBatch | Select | Steer | Ask | Conclude


def next_step(state: LoopState, now: datetime, *, decisive: bool = False) -> Step:
    """Decide what comes next at `now`. `decisive`: some observation settles a cause by the closed list."""
    if state.open_batch is not None:
        return RunBatch(batch=state.open_batch, calls=state.planned(state.open_batch))
    if state.offered is None:
        return Select()
    if state.turns and not _was_steered(state):
        after = _after_turn(state, state.turns[-1], decisive=decisive)
        if after is not None:
            return after
    return _next_turn(state, now)


def concluded(
    state: LoopState, reason: StopReason, *, text: str = "", degraded: str = "", hit: StopReason | None = None
) -> Gathered:
    """Word the end of the loop. `hit`: a ceiling that ends it without one more turn."""
    ceilings = [reached.ceiling for reached in state.ceilings] + ([] if hit is None else [hit])
    return Gathered(
        stop_reason=reason,
        turns=len(state.turns),
        conclusion=text,
        degraded=degraded,
        limits_hit=tuple(dict.fromkeys(ceilings)),
    )


def _was_steered(state: LoopState) -> bool:
    """Say whether the newest turn has been followed by a nudge already: nudges name the turn they come before."""
    return any(nudge.turn == state.next_turn for nudge in state.nudges)


def _after_turn(state: LoopState, turn: Turn, *, decisive: bool) -> Step | None:
    """Judge the newest turn: end, steer, or (None) go on."""
    if isinstance(turn.outcome, ModelFailed):
        said = f"the model failed ({turn.outcome.kind}): {turn.outcome.message}"
        return Conclude(gathered=concluded(state, "model_failed", degraded=said))
    content = turn.outcome.content
    withdrawn = state.withdrawn
    if withdrawn is not None and withdrawn.turn <= turn.number:
        return Conclude(gathered=concluded(state, withdrawn.why, text=conclusion_text(content)))
    if turn.calls:
        steerings = stagnation(state)
        return Steer(steerings=steerings) if steerings else None
    nudge = conclusion_nudge(state, content, decisive=decisive)
    if nudge is None:
        return Conclude(gathered=concluded(state, "concluded", text=conclusion_text(content)))
    if nudges_used_up(state):
        return Conclude(gathered=concluded(state, "never_concluded", text=conclusion_text(content)))
    return Steer(steerings=(nudge,))


def _next_turn(state: LoopState, now: datetime) -> Step:
    turn = state.next_turn
    if now >= state.deadline:
        return Conclude(gathered=concluded(state, "deadline", hit="deadline"))
    if turn > state.plan.budget.max_model_turns:
        return Conclude(gathered=concluded(state, "max_turns", hit="max_turns"))
    if state.withdrawn is None:
        reached = ceiling(state, now)
        if reached is not None:
            return Steer(steerings=withdrawal(state, reached))
    elif state.withdrawn.turn != turn:
        msg = f"tools were withdrawn for turn {state.withdrawn.turn}, yet turn {turn} comes next"
        raise InvariantBroken(msg)
    return Ask(turn=turn, key=turn_key(turn), last=state.withdrawn is not None)
