"""The alert, the facts and the plan, as the first thing that an investigator reads. Pure and bounded."""

from __future__ import annotations

from collections.abc import Iterable

from inquest.domain.investigation import Facts, Integrations, Investigation
from inquest.domain.question import Question
from inquest.errors import InvariantBroken
from inquest.stages.gather_evidence.excerpt import one_line
from inquest.stages.gather_evidence.limits import BRIEF_SHARE, part_bytes
from inquest.stages.gather_evidence.render import explained, fenced, window_text
from inquest.stages.gather_evidence.state import LoopState
from inquest.stages.questions import question_at
from inquest.stages.resolve_integrations import BY_RULE

MAX_VALUE_BYTES = 400
MAX_LINES = 60


def brief(state: LoopState, boundary: str) -> str:
    """Give what is known at the start: the same text in every request of an investigation, until members join."""
    facts, integrations = state.investigation.facts, state.investigation.integrations
    if facts is None or integrations is None:
        msg = "the loop runs after the facts are extracted"
        raise InvariantBroken(msg)
    window = facts.window
    most = part_bytes(state.investigation.limits, BRIEF_SHARE)
    last_hour = [f"Last hour: {window_text(window.last_hour)}."] if window.last_hour else []
    return "\n".join(
        [
            explained(boundary),
            "",
            "The alert and what was made of it:",
            fenced(_bounded([*_facts(facts, integrations), *_asked(state.investigation)], most), boundary, "alert"),
            f"Incident window: {window_text(window.incident)}. Baseline: {window_text(window.baseline)}.",
            *last_hour,
            f"Connected: {', '.join(f'{one.name} ({one.type}, {one.health})' for one in integrations.sources) or 'nothing'}.",
            f"The plan suggests these tools first: {', '.join(tool.name for tool in state.plan.tools) or 'none'}.",
        ]
    )


def _facts(facts: Facts, integrations: Integrations) -> list[str]:
    service = integrations.service
    members = {
        "alert": facts.alert_name,
        "severity": facts.severity,
        "source": facts.alert_source,
        "service": facts.service,
        "service known by": service.how,
        "depends on": ", ".join(service.depends_on),
        "namespace": facts.namespace,
        "workload": facts.workload,
        "message": facts.error_message,
        "expression": facts.expression,
    }
    labels = {f"label {name}": value for name, value in sorted(facts.labels.items())}
    return [f"{name}: {value}" for name, value in {**members, **labels}.items() if value]


def _asked(investigation: Investigation) -> list[str]:
    """Give what a rule asked a human before the plan, and the answer: what the model asks is in its turns."""
    match question_at(investigation, BY_RULE):
        case Question(prompt=prompt, answer=str(answer)):
            return [f"asked of a human: {prompt}", f"answered: {answer}"]
        case _:
            return []


def _bounded(lines: Iterable[str], most_bytes: int) -> str:
    kept: list[str] = []
    used = left_out = 0
    for line in lines:
        cut = one_line(line, MAX_VALUE_BYTES)
        used += len(cut.encode()) + 1
        if (used > most_bytes or len(kept) >= MAX_LINES) and kept:
            left_out += 1
        else:
            kept.append(cut)
    return "\n".join([*kept, *([f"({left_out} lines are left out)"] if left_out else [])])
