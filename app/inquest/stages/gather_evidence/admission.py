"""Admission of observations as evidence: what may be used, and what is listed as excluded (checklist 30)."""

from __future__ import annotations

from collections.abc import Iterable

from inquest.domain.evidence import Asked, EvidenceItem, Excluded
from inquest.domain.failure import Failure
from inquest.domain.investigation import Integrations
from inquest.domain.observation import Error, Observation, Ok, Outcome, Partial, Provenance, Query, Recorded
from inquest.domain.value import Value


class Admitted(Value):
    """What one recorded outcome adds: items (new ones only), exclusions, and the query's row."""

    items: tuple[EvidenceItem, ...]
    excluded: tuple[Excluded, ...]
    asked: Asked
    next_cursor: str | None


def observations(outcome: Outcome) -> tuple[Observation, ...]:
    """Give what an outcome brought."""
    return () if isinstance(outcome, Error) else outcome.observations


def failure_of(outcome: Outcome) -> Failure | None:
    """Give why it has no answer, or only a part of one."""
    return None if isinstance(outcome, Ok) else outcome.error


def cursor_of(outcome: Outcome) -> str | None:
    """Give where the next page begins."""
    return outcome.next_cursor if isinstance(outcome, Ok | Partial) else None


def why_excluded(observation: Observation, query: Query, expected: Provenance | None, workspace: str) -> str | None:
    """Say what `observation` gets wrong about where it comes from, None when it may be used."""
    said = {
        "workspace": (observation.workspace, workspace),
        "tool": (observation.tool, query.tool),
        "service": (observation.service, query.service_id),
        "time range": (observation.time_range, query.time_range),
        "cursor": (observation.cursor, query.cursor),
    }
    if expected is not None:
        said["source"] = (observation.source, expected.source)
        said["signal"] = (observation.signal, expected.signal)
        said["tenant"] = (observation.tenant, expected.tenant)
    wrong = [name for name, (found, wanted) in said.items() if found != wanted]
    return f"its {', '.join(wrong)} differ{'s' if len(wrong) == 1 else ''} from what was asked" if wrong else None


def admit(
    recorded: Recorded,
    query: Query,
    *,
    key: str,
    workspace: str,
    known: Iterable[EvidenceItem],
    integrations: Integrations | None,
) -> Admitted:
    """Admit what `recorded` (under the receipt `key`) brought; an observation admitted before keeps its name."""
    by_id = {item.observation_id: item for item in known}
    items: list[EvidenceItem] = []
    excluded: list[Excluded] = []
    names: list[str] = []
    for observation in observations(recorded.outcome):
        name = observation.observation_id
        reason = why_excluded(observation, query, recorded.expected, workspace)
        if name in recorded.unbacked:
            reason = "its content is missing or has another digest"
        if reason is not None:
            excluded.append(Excluded(effect_key=key, observation_id=name, reason=reason))
            continue
        if name not in by_id:
            item = EvidenceItem(name=f"E{len(by_id) + 1}", observation_id=name, effect_key=key, observation=observation)
            by_id[name] = item
            items.append(item)
        names.append(by_id[name].name)
    expected = recorded.expected
    asked = Asked(
        effect_key=key,
        query=query,
        source=_source_of(query, integrations) if expected is None else expected.source,
        signal="derived" if expected is None else expected.signal,
        evidence=tuple(dict.fromkeys(names)),
        failure=failure_of(recorded.outcome),
    )
    return Admitted(items=tuple(items), excluded=tuple(excluded), asked=asked, next_cursor=cursor_of(recorded.outcome))


def _source_of(query: Query, integrations: Integrations | None) -> str:
    """Name the integration whose tool `query` names, as stage 1 found it; "" when there is none."""
    sources = () if integrations is None else integrations.sources
    return next((source.name for source in sources if query.tool in source.tools), "")
