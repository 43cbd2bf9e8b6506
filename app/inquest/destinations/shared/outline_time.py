"""The timeline: changes, alerts, onset and the steps of the chain, in one order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.destinations.shared.page import (
    Block,
    Line,
    Paragraph,
    Plain,
    Ref,
    Section,
    Strong,
    Table,
    cited,
    code,
    foreign,
)
from inquest.destinations.shared.words import moment
from inquest.domain.value import from_epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from inquest.domain.evidence import EvidenceItem
    from inquest.domain.report import Report
    from inquest.domain.value import Json

MAX_ENTRIES = 80
"""Of the timeline. The onset and the chain always stay; the changes furthest from the onset go first."""


class Entry(NamedTuple):
    """One line of the timeline. `weight` 0 always stays."""

    at: datetime
    what: str
    line: Line
    weight: int = 0


def timeline_section(report: Report) -> Section:
    """Lay out the timeline."""
    found = sorted(_entries(report), key=lambda entry: (entry.at, entry.what))
    shown = _within_limit(found, report)
    rows = tuple(((Plain(moment(entry.at)),), (Plain(entry.what),), entry.line) for entry in shown)
    blocks: list[Block] = (
        [Table(("time", "what", "which"), rows)] if rows else [Paragraph((Plain("Nothing is dated."),))]
    )
    if len(shown) < len(found):
        left = len(found) - len(shown)
        blocks.append(Paragraph((Plain(f"{left} more changes, further from the onset, are in the evidence."),)))
    return Section("Timeline with changes", tuple(blocks))


def _entries(report: Report) -> Iterator[Entry]:
    yield from _distinct(entry for item in report.evidence for entry in _changes(item))
    alert = report.episode.primary.alert
    yield Entry(alert.starts_at or report.episode.opened_at, "alert", (code(alert.name), Plain(" begins to fire")))
    if report.resolved_at is not None:
        yield Entry(report.resolved_at, "resolved", (Plain("no alert of the episode fires any more"),))
    diagnosis = report.diagnosis
    if diagnosis is None:
        return
    if diagnosis.onset is not None:
        name = diagnosis.onset.citation.evidence
        yield Entry(diagnosis.onset.at, "onset", (Strong("the trouble begins"), Plain(" "), Ref(name)))
    for step in diagnosis.causal_chain:
        yield Entry(step.at, "chain", (foreign(step.text), *cited(step.citations)))


def _distinct(changes: Iterator[Entry]) -> Iterator[Entry]:
    """Give each change once, as the first item shows it: two queries may have brought the same one."""
    seen: set[tuple[datetime, Line]] = set()
    for entry in changes:
        known = (entry.at, entry.line[:-1])  # all but the reference to the item
        if known not in seen:
            seen.add(known)
            yield entry


def _changes(item: EvidenceItem) -> Iterator[Entry]:
    body = item.observation.content.body
    records = body.get("changes") if isinstance(body, dict) and body.get("kind") == "changes" else None
    for record in records if isinstance(records, list) else ():
        if not isinstance(record, dict):
            continue
        at = _moment(record.get("time"))
        if at is not None:
            text = " ".join(str(record[name]) for name in ("change_id", "title", "status") if record.get(name))
            kind = str(record.get("change", "change")).replace("_", " ")
            by: Line = (Plain(" by "), foreign(str(record["author"]))) if record.get("author") else ()
            yield Entry(at, "change", (code(kind), Plain(" "), foreign(text), *by, Plain(" "), Ref(item.name)), 1)


def _moment(value: Json) -> datetime | None:
    if not isinstance(value, int):
        return None
    try:
        return from_epoch_ms(value)
    except (OverflowError, ValueError, OSError):
        return None


def _within_limit(entries: list[Entry], report: Report) -> list[Entry]:
    if len(entries) <= MAX_ENTRIES:
        return entries
    onset = None if report.diagnosis is None else report.diagnosis.onset
    middle = onset.at if onset is not None else report.episode.opened_at
    ranked = sorted(entries, key=lambda entry: (entry.weight, abs(entry.at - middle)))
    kept = {id(entry) for entry in ranked[:MAX_ENTRIES]}
    return [entry for entry in entries if id(entry) in kept]
