"""The sections on evidence: what was seen, with the exact query, and what could not be checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inquest.destinations.shared.page import (
    Block,
    Bullets,
    Code,
    Copy,
    Line,
    Link,
    Paragraph,
    Plain,
    Ref,
    Section,
    Spark,
    Table,
    code,
    copy,
    foreign,
)
from inquest.destinations.shared.sparkline import said, shape_of
from inquest.destinations.shared.words import moment, plural
from inquest.stages.coverage import SEVERITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquest.domain.evidence import CoverageRow, EvidenceItem
    from inquest.domain.report import Report

STATUSES = {
    "failed": "failed",
    "truncated": "truncated",
    "never_asked": "never asked",
    "empty": "empty",
    "answered": "answered",
}


def evidence_section(report: Report, contents: Mapping[str, bytes], left_out: Mapping[str, int]) -> Section:
    """Lay out the evidence: a table, then each query to copy."""
    title = "Evidence"
    if not report.evidence:
        return Section(title, (Paragraph((Plain("No evidence was admitted."),)),))
    links = {link.evidence: link.url for link in report.links}
    drawn = _drawn_series(report)
    rows: list[tuple[Line, ...]] = []
    for item in report.evidence:
        link: Line = (Link("open", links[item.name], brief=True),) if item.name in links else (Plain("no page"),)
        course = _course(report, item, contents, drawn.get(item.name, 0))
        rows.append(((Ref(item.name),), _source(item), _window(item), course, _answer(item, left_out), link))
    table = Table(
        ("id", "source", "time range (UTC)", "course", "answer", "link"),
        tuple(rows),
        anchors=tuple(item.name for item in report.evidence),
    )
    queries = tuple(_query(item) for item in report.evidence)
    return Section(title, (table, Paragraph((Plain(_legend(report)),)), *queries))


def _legend(report: Report) -> str:
    marked = report.diagnosis is not None and report.diagnosis.onset is not None
    return "A course is drawn from the full content" + ("; the upright mark is the onset." if marked else ".")


def coverage_section(report: Report) -> Section:
    """Lay out what was asked and how it ended, the gaps first."""
    title = "What could not be checked"
    blocks: list[Block] = []
    if report.coverage:
        counts = Counter(row.status for row in report.coverage)
        summary = ", ".join(f"{counts[status]} {STATUSES[status]}" for status in reversed(SEVERITY) if counts[status])
        blocks.append(Paragraph((Plain(f"Of {plural(len(report.coverage), 'row')}: {summary}."),)))
        ordered = sorted(report.coverage, key=lambda row: SEVERITY.index(row.status))
        head = ("outcome", "source", "signal", "tool", "why")
        blocks.append(Table(head, tuple(_coverage_row(row) for row in ordered)))
    else:
        blocks.append(Paragraph((Plain("Nothing was asked."),)))
    if report.excluded:
        rows = tuple((Code(one.effect_key), Plain(" "), foreign(one.reason)) for one in report.excluded)
        blocks += [Paragraph((Plain("Answers that may not be used:"),)), Bullets(rows)]
    missing = () if report.diagnosis is None else report.diagnosis.missing_evidence
    if missing:
        blocks += [
            Paragraph((Plain("Missing, as its author says:"),)),
            Bullets(tuple((foreign(one),) for one in missing)),
        ]
    return Section(title, tuple(blocks))


def _drawn_series(report: Report) -> dict[str, int]:
    """Choose for each item the series that the diagnosis cites first."""
    if report.diagnosis is None:
        return {}
    onset = report.diagnosis.onset
    cited = [] if onset is None else [onset.citation]
    cited += [one for step in report.diagnosis.causal_chain for one in step.citations]
    cited += [one for claim in report.diagnosis.validated_claims for one in claim.citations]
    found: dict[str, int] = {}
    for citation in cited:
        steps = citation.pointer.split("/")
        if steps[1:2] == ["series"] and len(steps) > 2 and steps[2].isdecimal():  # noqa: PLR2004  # /series/0
            found.setdefault(citation.evidence, int(steps[2]))
    return found


def _source(item: EvidenceItem) -> Line:
    seen = item.observation
    return (code(seen.source), Plain(f" {seen.signal}, "), code(seen.tool))


def _window(item: EvidenceItem) -> Line:
    reach = item.observation.time_range
    same_day = reach.start.date() == reach.end.date()
    end = f"{reach.end:%H:%M}" if same_day else f"{reach.end:%Y-%m-%d %H:%M}"
    return (Plain(f"{reach.start:%Y-%m-%d %H:%M} to {end}"),)


def _course(report: Report, item: EvidenceItem, contents: Mapping[str, bytes], drawn: int) -> Line:
    onset = None if report.diagnosis is None or report.diagnosis.onset is None else report.diagnosis.onset.at
    seen = item.observation
    shape = shape_of(seen, contents.get(seen.digest), drawn=drawn, onset=onset)
    if shape is None:
        return (Plain("none"),)
    of_many = f", series {shape.drawn + 1} of {shape.series}" if shape.series > 1 else ""
    return (Spark(shape), Plain(f" {said(shape.low)} to {said(shape.high)}{of_many}"))


def _answer(item: EvidenceItem, left_out: Mapping[str, int]) -> Line:
    cut_to = item.observation.truncation
    found = plural(cut_to.original_items, "item") if cut_to.original_items else "empty"
    shown = f", {cut_to.kept_items:,} shown" if item.observation.truncated else ""
    partial: Line = (Plain(f", partial: {item.observation.error.message}"),) if item.observation.error else ()
    absent: Line = ()
    if item.name in left_out:
        absent = (Plain(f", content of {left_out[item.name]:,} bytes not in this folder: too large"),)
    return (Plain(found + shown), *partial, *absent)


def _query(item: EvidenceItem) -> Copy:
    seen = item.observation
    reach = seen.time_range
    label: Line = (
        Ref(item.name),
        Plain(f" {moment(reach.start)} to {moment(reach.end)}, content "),
        Code(seen.digest),
    )
    return copy(label, seen.expression or f"{seen.tool} (no expression)")


def _coverage_row(row: CoverageRow) -> tuple[Line, ...]:
    evidence: Line = () if row.evidence is None else (Ref(row.evidence), Plain(" "))
    failed: Line = () if row.code is None else (Plain(f"{row.code.value}: "),)
    return (
        (*evidence, Plain(STATUSES[row.status])),
        (code(row.source),) if row.source else (Plain("unknown"),),
        (Plain(row.signal),),
        (code(row.tool),) if row.tool else (Plain("none"),),
        (*failed, foreign(row.why)) if row.why else failed,
    )
