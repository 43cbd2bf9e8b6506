"""When "healthy" may be said: the alert's own signal was seen, and nothing hard has failed.

Empty is not healthy, and "could not look" is not "nothing found".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from inquest.analysis.failure_markers import new_failures
from inquest.analysis.metric_names import metric_names
from inquest.domain.signals import signal_content

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inquest.domain.evidence import EvidenceItem
    from inquest.domain.investigation import Facts
    from inquest.domain.observation import Signal
    from inquest.domain.signals import SignalContent


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
    if not _own_signal_was_seen(facts, evidence):
        return "the alert's own signal was not seen: an empty or missing answer is not a healthy one"
    scope = {facts.service, *depends_on, ""}
    looked_at = list(_read(evidence, contents, scope))
    if len(looked_at) < sum(item.observation.service in scope for item in evidence.values()):
        return "an answer about the service cannot be read"
    found = new_failures(looked_at, facts.window.incident, facts.window.baseline)
    if found:
        first = found[0]
        return f"{first.marker} was seen {first.incident} times in the incident and {first.baseline} before it"
    return None


def _own_signal_was_seen(facts: Facts, evidence: Mapping[str, EvidenceItem]) -> bool:
    """Say whether a complete, non-empty answer about what the alert measures covers the time it fired."""
    measured = metric_names(facts.expression)
    if not measured:
        return False
    for item in evidence.values():
        seen = item.observation
        complete = seen.error is None and not seen.truncated and seen.truncation.original_items > 0
        covers = seen.time_range.start <= facts.window.anchor < seen.time_range.end
        if seen.signal == "metrics" and complete and covers and measured <= metric_names(seen.expression):
            return True
    return False


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
