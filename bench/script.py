"""The script that a model follows here: so many turns with so many calls, then a conclusion and a diagnosis.

Every call is one that was not asked before, so that each of them is sent; nothing is judged, and the last turn
is the one that the loop forces.
"""

from __future__ import annotations

import json

from inquest.domain.budget import MAX_INVESTIGATION_LOOPS
from inquest.domain.diagnosis import Proposal, Verdict
from inquest.domain.transcript import Reply, ToolCall
from inquest.domain.value import Value
from inquest.stages.diagnosis_wire import write_proposal

CONCLUSION = "Nothing that was asked explains it."
DIAGNOSIS = write_proposal(Proposal(verdict=Verdict.INCONCLUSIVE, root_cause="", author="scripted"))


class Shape(Value):
    """How many calls each turn makes; the turn after these has none."""

    calls: tuple[int, ...]

    @property
    def turns(self) -> int:
        """Give the model turns of the loop, the concluding one included."""
        return len(self.calls) + 1

    @property
    def queries(self) -> int:
        """Give the calls of all turns."""
        return sum(self.calls)


TWENTY_TURNS = Shape(calls=(*[2] * (MAX_INVESTIGATION_LOOPS - 2), 4))
"""20 turns and 40 calls: the last turn has none."""
THREE_TURNS = Shape(calls=(2, 2))
SEQUENTIAL = Shape(calls=(1,) * (MAX_INVESTIGATION_LOOPS - 1))
BATCHES = Shape(calls=(*[8] * 7, 4))
"""As many calls at once as a turn runs. The 60th is the last that an investigation may make, so the next turn is the
forced one."""


def calls(shape: Shape, turn: int, tool: str) -> tuple[ToolCall, ...]:
    """Give the calls of turn `turn`, counted from 1: each with an expression of its own."""
    if turn >= shape.turns:
        return ()
    return tuple(
        ToolCall(
            call_id=f"call_{turn}_{number}",
            name=tool,
            arguments=json.dumps({"expression": f'bench_series{{turn="{turn}",call="{number}"}}'}),
        )
        for number in range(1, shape.calls[turn - 1] + 1)
    )


def replies(shape: Shape, tool: str) -> list[Reply]:
    """Give what the model says, in order: the turns, the conclusion, the diagnosis."""
    turns = [
        Reply(content="", tool_calls=calls(shape, turn, tool), finish_reason="tool_calls", model="scripted")
        for turn in range(1, shape.turns)
    ]
    return [*turns, *(Reply(content=text, finish_reason="stop", model="scripted") for text in (CONCLUSION, DIAGNOSIS))]
