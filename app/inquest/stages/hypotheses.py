"""The hypotheses that an investigation opens with: 2 to 4, each with the observation that would refute it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquest.domain.hypothesis import Hypothesis

if TYPE_CHECKING:
    from inquest.domain.investigation import Facts, ServiceGuess

MAX_OPENING = 4


@dataclass(frozen=True)
class _Template:
    category: str
    words: re.Pattern[str] | None
    """The alert's words that make it likely; None: always worth asking."""
    text: str
    refuted_by: str


_TEMPLATES = (
    _Template(
        "change",
        None,
        "A change to {service} shortly before the onset caused it.",
        "no deployment, merge or configuration change of {service} in the hour before the onset",
    ),
    _Template(
        "resource",
        re.compile(
            r"error|latency|slow|timeout|saturat|full|memory|cpu|disk|pool|connection|restart|oom|throttl",
            re.IGNORECASE,
        ),
        "{service} ran out of a resource it needs (connections, memory, CPU, threads, disk).",
        "every limited resource of {service} stays well under its limit throughout the window",
    ),
    _Template(
        "dependency",
        re.compile(r"error|latency|slow|timeout|unavailable|5xx|fail|lag", re.IGNORECASE),
        "Something that {service} calls failed or became slow first.",
        "the dependencies of {service} stay at their baseline until after the onset",
    ),
    _Template(
        "traffic",
        re.compile(r"latency|slow|error|saturat|throttl|queue|lag|timeout", re.IGNORECASE),
        "{service} received more or different traffic than usual.",
        "the request rate of {service} stays at its baseline",
    ),
    _Template(
        "platform",
        re.compile(r"down|absent|restart|crash|unschedul|node|not ?ready|oom", re.IGNORECASE),
        "The platform under {service} (node, scheduler, network) failed.",
        "other services on the same platform show nothing unusual",
    ),
)


def opening_hypotheses(facts: Facts, service: ServiceGuess) -> tuple[Hypothesis, ...]:
    """Open what fits the alert's words, a change always among them; never fewer than two."""
    said = re.sub(r"([a-z])([A-Z])", r"\1 \2", f"{facts.alert_name} {facts.error_message}")
    fitting = [row for row in _TEMPLATES if row.words is None or row.words.search(said)]
    if len(fitting) < 2:  # noqa: PLR2004  # design 8: two to four
        fitting = [row for row in _TEMPLATES if row.category in {"change", "resource", "dependency"}]
    subject = service.service_id or "the affected service"
    return tuple(
        Hypothesis(
            name=f"h{number}",
            text=row.text.format(service=subject),
            refuted_by=row.refuted_by.format(service=subject),
            category=row.category,
        )
        for number, row in enumerate(fitting[:MAX_OPENING], start=1)
    )
