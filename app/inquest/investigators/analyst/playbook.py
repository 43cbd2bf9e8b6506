"""What the analyst asks next: a few steps, each asked once, in the order an engineer would.

First the alert's own signal close up, and which series exist for the service; then the course of each
telling metric around the onset. What the seeds brought (changes, logs, alerts) is there already.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from inquest.domain.selector import selector
from inquest.domain.transcript import ToolCall
from inquest.domain.value import from_epoch_ms, rfc3339
from inquest.domain.window import Window
from inquest.investigators.analyst.appraisal import appraise
from inquest.investigators.analyst.dependencies import MAX_SIGNS, TELLING
from inquest.investigators.analyst.exhibit import exhibits
from inquest.investigators.analyst.question import (
    alert_expression,
    dependency_matchers,
    expression_in,
    scrape_ms,
    service_matchers,
)
from inquest.investigators.analyst.signs import metrics_of
from inquest.investigators.analyst.silence import STEP_S, lines_expression
from inquest.investigators.analyst.tools import (
    DEPLOYMENTS_TOOL,
    EVERY_PROJECT,
    LINES_TOOL,
    MERGES_TOOL,
    RANGE_TOOL,
    RULES_TOOL,
    SERIES_TOOL,
)
from inquest.stages.gather_evidence.state import SEED_BATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from inquest.analysis.siblings import Sibling
    from inquest.domain.value import Json
    from inquest.investigators.analyst.changes import SuspectChange
    from inquest.ports import LoopView

BEFORE_ONSET = timedelta(minutes=40)
AFTER_ONSET = timedelta(minutes=20)
"""Close up, at most: a third of this stretch, what is taken for normal, is well before the onset."""
BEFORE_ANCHOR = timedelta(minutes=10)
"""Where no onset is seen yet, at most: a young series, or trouble too short for the coarse look."""
TIMES_ITS_LENGTH = 15
"""Trouble that is younger is looked at from this many times its length before it: a tool spreads the samples of
an answer over what was asked, and of trouble shorter than a few of their steps no look would see a course."""
LEAST_SAMPLES, MOST_SAMPLES = 40, 200
"""Of the source's own samples before the onset or the anchor: a third of the least still is a baseline, and the
most are fewer than what any tool gives of one series at the source's own step."""

WHOLE_SAMPLES = 240
"""Of the source's own samples in a close look, at most: no tool thins these out, so that what came first is seen to
have come first. Half of them at most are after the onset or the anchor: the first third is what is normal."""

Ask = tuple[str, dict[str, "Json"]]


def next_calls(view: LoopView) -> tuple[ToolCall, ...]:
    """Give the calls of the next turn; none when there is nothing more to ask."""
    offered = {tool.name for tool in view.tools}
    steps = (
        _signal_close_up,
        _rule_of_alert,
        _series_of_service,
        _changes_elsewhere,
        _lines_of_service,
        _siblings_close_up,
        _dependencies_close_up,
    )
    asks = [ask for step in steps for ask in step(view) if ask[0] in offered]
    fresh = [ask for ask in asks if not _was_asked(view, *ask)]
    return tuple(
        ToolCall(call_id=f"a{view.turn}-{number}", name=name, arguments=json.dumps(arguments, sort_keys=True))
        for number, (name, arguments) in enumerate(fresh, start=1)
    )


def focus(view: LoopView) -> Window | None:
    """Give the stretch to look at close up: around the onset, or around the alert while none is seen."""
    found = appraise(view)
    if found is None:
        return None
    reach, anchor, end = found.window.reach, found.window.anchor, found.window.incident.end
    step = timedelta(milliseconds=scrape_ms(view))
    whole = WHOLE_SAMPLES * step
    if found.onset_ms is None:
        start = anchor - min(BEFORE_ANCHOR, MOST_SAMPLES * step)
        end = min(anchor + whole / 2, end)
    else:
        onset = from_epoch_ms(found.onset_ms)
        end = min(onset + min(AFTER_ONSET, whole / 2), end)
        before = max(TIMES_ITS_LENGTH * (end - onset), LEAST_SAMPLES * step)
        start = onset - min(BEFORE_ONSET, before, whole - (end - onset))
        start = min([start, *(_normal_before(one, end) for one in found.own_changes)])
    start = max(start, reach.start)
    return Window(start=start, end=end) if start < end else found.window.incident


def _normal_before(change: SuspectChange, end: datetime) -> datetime:
    """Give from when on to look, so that what is taken for normal, the leading third, is from before `change`."""
    began = from_epoch_ms(change.suspect.change.time)
    return began - (end - began) / 2


def _signal_close_up(view: LoopView) -> Iterator[Ask]:
    expression = alert_expression(view)
    close = focus(view)
    if expression and close is not None and _close_ups(view, expression) == 0:
        yield RANGE_TOOL, {"expression": expression, **_range(close)}


def _rule_of_alert(view: LoopView) -> Iterator[Ask]:
    """Ask for the alert's rule as the source has it: what the alert says of itself is not evidence."""
    facts = view.investigation.facts
    if facts is not None and facts.alert_name:
        yield RULES_TOOL, {"search": facts.alert_name}


def _series_of_service(view: LoopView) -> Iterator[Ask]:
    """Ask which series exist, of the service and of what it calls."""
    for matchers in (service_matchers(view), *dependency_matchers(view).values()):
        if matchers:
            yield SERIES_TOOL, {"selector": selector(matchers)}


def _changes_elsewhere(_: LoopView) -> Iterator[Ask]:
    """Ask what was deployed and merged elsewhere: to blame it where it fits, and to rule it out where it does not."""
    for tool in (DEPLOYMENTS_TOOL, MERGES_TOOL):
        yield tool, {"project": EVERY_PROJECT}


def _lines_of_service(view: LoopView) -> Iterator[Ask]:
    """Ask how much the service logs around the onset: no error line is an answer, no line at all is a gap."""
    expression, close = lines_expression(view), focus(view)
    refused = any(one.query.tool == LINES_TOOL and one.failure is not None for one in view.asked)
    if expression and close is not None and not refused and _close_ups(view, expression) == 0:
        yield LINES_TOOL, {"expression": expression, "step_seconds": STEP_S, **_range(close)}


def _siblings_close_up(view: LoopView) -> Iterator[Ask]:
    """Ask for the course of every telling metric of the service, once the series and the signal are known."""
    yield from _close_up(view, metrics_of(view, tuple(exhibits(view)), service_matchers(view)))


def _dependencies_close_up(view: LoopView) -> Iterator[Ask]:
    """Ask whether what the service calls answers late or with errors, or ran out of something."""
    shown = tuple(exhibits(view))
    for matchers in dependency_matchers(view).values():
        known = [one for one in metrics_of(view, shown, matchers) if one.role in TELLING]
        yield from _close_up(view, known[:MAX_SIGNS])


def _close_up(view: LoopView, metrics: Iterable[Sibling]) -> Iterator[Ask]:
    close = focus(view)
    if close is None or (alert_expression(view) and _close_ups(view, alert_expression(view)) == 0):
        return
    for metric in metrics:
        if _close_ups(view, metric.expression) == 0:
            yield RANGE_TOOL, {"expression": metric.expression, **_range(close)}


def _range(window: Window) -> dict[str, Json]:
    return {"start": rfc3339(window.start), "end": rfc3339(window.end)}


def _close_ups(view: LoopView, expression: str) -> int:
    """Count how often the analyst has asked for `expression`, refused calls too."""
    return sum(one.batch != SEED_BATCH and expression_in(one.arguments) == expression for one in view.exchanges)


def _was_asked(view: LoopView, tool: str, arguments: dict[str, Json]) -> bool:
    """Say whether exactly this call was written before: nothing is asked twice, whatever came of it."""
    written = json.dumps(arguments, sort_keys=True)
    return any(one.name == tool and one.arguments == written for one in view.exchanges)
