"""Whether the service's log is there at all: a log without error lines is no gap, one without lines is.

"Could not look" is not "nothing found": a source that answers, and holds no line of the service from when the
trouble began, tells nothing about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.domain.selector import selector
from inquest.domain.value import from_epoch_ms
from inquest.investigators.analyst.question import log_matchers, written_expression
from inquest.investigators.analyst.tools import LINES_TOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.investigators.analyst.exhibit import Exhibit
    from inquest.ports import LoopView

STEP_S = 60
MIN_STEPS = 2
"""Of trouble: with fewer, lines may still be on their way."""


def lines_expression(view: LoopView) -> str:
    """Give what counts every line of the service, "" where its labels are not known."""
    matchers = log_matchers(view)
    return f"sum(count_over_time({selector(matchers)}[{STEP_S}s]))" if matchers else ""


def silence(view: LoopView, shown: Sequence[Exhibit], onset_ms: int | None) -> tuple[str, ...]:
    """Say that the logs are missing, when the count of all lines shows none since the trouble began."""
    expression, facts = lines_expression(view), view.investigation.facts
    if not expression or onset_ms is None or facts is None:
        return ()
    for one in shown:
        if one.asked.query.tool != LINES_TOOL or written_expression(view, one.asked) != expression:
            continue
        if one.content.kind != "matrix":
            continue
        asked = one.asked.query.time_range
        lines = [at for series in one.content.series for at, value in series.points if value]
        if (asked.end - from_epoch_ms(onset_ms)).total_seconds() < MIN_STEPS * STEP_S or max(
            lines, default=0
        ) > onset_ms:
            return ()
        if not lines:
            return (f"the logs of {facts.service} are missing: there is not one line since {asked.start:%H:%M} UTC",)
        last = from_epoch_ms(max(lines))
        return (f"the logs of {facts.service} are missing: the last line is of {last:%H:%M} UTC, before the trouble",)
    return ()
