"""When "healthy" may be said: the alert's own signal was seen, and nothing hard has failed.

Empty is not healthy, and "could not look" is not "nothing found".
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import ValidationError

from inquest.analysis.failure_markers import new_failures
from inquest.analysis.metric_names import metric_names
from inquest.domain.signals import signal_content
from inquest.domain.value import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inquest.domain.evidence import EvidenceItem
    from inquest.domain.investigation import Facts
    from inquest.domain.observation import Signal
    from inquest.domain.signals import SignalContent

NORMAL_BEFORE = timedelta(minutes=15)
"""So long before the alert fired a sample must lie to say what is normal: nearer, it may be of the trouble itself."""


def why_not_healthy(
    facts: Facts | None,
    evidence: Mapping[str, EvidenceItem],
    contents: Mapping[str, bytes],
    depends_on: tuple[str, ...],
) -> str | None:
    """Say what forbids "healthy", None when nothing does.

    `depends_on` are the service's direct dependencies: what they log counts as well.
    """
    if facts is None:
        return "the alert's facts are not known"
    own = list(_own_signal(facts, evidence))
    if not own:
        return "the alert's own signal was not seen: an empty or missing answer is not a healthy one"
    if not any(_knows_normal(contents.get(item.observation.digest), facts) for item in own):
        return "the alert's own signal was not seen before the alert fired: what is normal for it is not known"
    scope = {facts.service, *depends_on, ""}
    looked_at = list(_read(evidence, contents, scope))
    if len(looked_at) < sum(item.observation.service in scope for item in evidence.values()):
        return "an answer about the service cannot be read"
    found = new_failures(looked_at, facts.window.incident, facts.window.baseline)
    if found:
        first = found[0]
        return f"{first.marker} was seen {first.incident} times in the incident and {first.baseline} before it"
    return None


def _own_signal(facts: Facts, evidence: Mapping[str, EvidenceItem]) -> Iterator[EvidenceItem]:
    """Give the complete, non-empty answers about what the alert measures that cover the time it fired."""
    measured = metric_names(facts.expression)
    if not measured:
        return
    for item in evidence.values():
        seen = item.observation
        complete = seen.error is None and not seen.truncated and seen.truncation.original_items > 0
        covers = seen.time_range.start <= facts.window.anchor < seen.time_range.end
        if seen.signal == "metrics" and complete and covers and measured <= metric_names(seen.expression):
            yield item


def _knows_normal(raw: bytes | None, facts: Facts) -> bool:
    """Say whether a series of the answer has a sample from well before the alert fired."""
    if raw is None:
        return False
    try:
        content = signal_content.validate_json(raw)
    except ValidationError:
        return False
    if content.kind != "matrix":
        return False
    limit = epoch_ms(facts.window.anchor - NORMAL_BEFORE)
    return any(at <= limit and value is not None for series in content.series for at, value in series.points)


def _read(
    evidence: Mapping[str, EvidenceItem], contents: Mapping[str, bytes], scope: set[str]
) -> Iterator[tuple[Signal, SignalContent]]:
    for item in evidence.values():
        raw = contents.get(item.observation.digest)
        if item.observation.service not in scope or raw is None:
            continue
        try:
            yield item.observation.signal, signal_content.validate_json(raw)
        except ValidationError:
            continue
