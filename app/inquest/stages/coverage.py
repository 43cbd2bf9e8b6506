"""The coverage table: what was asked and answered, empty, failed or truncated, and what was never asked.

Computed from the journal's queries, never told by a model: "could not look" is not "nothing found".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.domain.evidence import Asked, CoverageRow, EvidenceItem, Excluded
from inquest.stages.present import OF_THE_PRESENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.domain.evidence import CoverageStatus
    from inquest.domain.investigation import ConnectedSource, Integrations
    from inquest.domain.observation import Signal

KNOWLEDGE_SIGNALS: frozenset[Signal] = frozenset({"names", "rules", "human", "derived"})
"""Kinds that tell about the sources, not about the incident: not having asked them is no gap."""
SEVERITY: tuple[CoverageStatus, ...] = ("failed", "truncated", "never_asked", "empty", "answered")
"""How much a row keeps a reader from trusting the picture, worst first."""


def coverage(
    asked: Sequence[Asked],
    evidence: Sequence[EvidenceItem],
    excluded: Sequence[Excluded],
    integrations: Integrations | None,
    *,
    not_now: str = "",
) -> tuple[CoverageRow, ...]:
    """Give one row per query in planned order, then one per connected kind of signal that was never asked.

    `not_now`: why what is now was not asked (`present.why_not_now`).
    """
    items = {item.name: item for item in evidence}
    refused = {one.effect_key: one.reason for one in excluded}
    rows = [row for query in asked for row in _rows(query, items, refused.get(query.effect_key, ""))]
    sources = () if integrations is None else integrations.sources
    return (*rows, *(row for source in sources for row in _never_asked(source, asked, not_now)))


def answered_share(rows: Sequence[CoverageRow]) -> float:
    """Give the share of rows that were answered in full (empty is an answer); 0.0 without rows."""
    return sum(row.status in {"answered", "empty"} for row in rows) / len(rows) if rows else 0.0


def _rows(query: Asked, items: dict[str, EvidenceItem], refused: str) -> list[CoverageRow]:
    if query.evidence:
        return [_seen(query, items[name]) for name in query.evidence if name in items]
    if query.failure is not None:
        return [_row(query, "failed", why=query.failure.hint or query.failure.message)]
    if refused:
        return [_row(query, "failed", why=f"the answer may not be used: {refused}")]
    return [_row(query, "empty", why="the source answered without an observation")]


def _seen(query: Asked, item: EvidenceItem) -> CoverageRow:
    observation = item.observation
    cut = observation.truncation
    if query.failure is not None:
        return _row(query, "truncated", item, why=f"only a part came back: {query.failure.message}")
    if observation.truncated:
        kept = f"{cut.kept_items} of {cut.original_items} items, {cut.kept_bytes} of {cut.original_bytes} bytes shown"
        return _row(query, "truncated", item, why=kept)
    if cut.original_items == 0:
        return _row(query, "empty", item)
    return _row(query, "answered", item)


def _row(query: Asked, status: CoverageStatus, item: EvidenceItem | None = None, *, why: str = "") -> CoverageRow:
    return CoverageRow(
        source=query.source,
        signal=query.signal if item is None else item.observation.signal,
        tool=query.query.tool,
        expression=query.query.expression if item is None else item.observation.expression,
        window=query.query.time_range,
        status=status,
        evidence=None if item is None else item.name,
        code=None if query.failure is None else query.failure.code,
        why=why,
    )


def _never_asked(source: ConnectedSource, asked: Sequence[Asked], not_now: str) -> list[CoverageRow]:
    here = [query for query in asked if query.source == source.name]
    seen = {query.signal for query in here}
    tools = {query.query.tool for query in here}
    unused = ", ".join(tool for tool in source.tools if tool not in tools)
    why = "; ".join(part for part in (source.note, f"not used: {unused}" if unused else "") if part)
    return [
        CoverageRow(
            source=source.name,
            signal=signal,
            tool="",
            expression="",
            window=None,
            status="never_asked",
            why=not_now if not_now and signal in OF_THE_PRESENT else why,
        )
        for signal in source.signals
        if signal not in seen | KNOWLEDGE_SIGNALS
    ]
