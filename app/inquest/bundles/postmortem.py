"""The draft of a postmortem, from the one Report: what is recorded stands there, what only people know is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inquest.destinations.shared.markdown import MarkdownWriter
from inquest.destinations.shared.outline import page_of
from inquest.destinations.shared.outline_cause import NO_DIAGNOSIS, summary_line
from inquest.destinations.shared.page import Block, Bullets, Line, Paragraph, Plain, Section, Strong, Table, foreign
from inquest.destinations.shared.words import moment
from inquest.domain.report import Report

TO_BE_WRITTEN = "To be written"
NO_HOSTS: frozenset[str] = frozenset()
"""A draft is passed on: no address in it is a link."""


def postmortem_of(report: Report, contents: Mapping[str, bytes]) -> bytes:
    """Write the draft as Markdown in UTF-8; `contents` as for a report. The same report gives the same bytes."""
    return ("\n".join(_lines(report, contents, MarkdownWriter(NO_HOSTS))) + "\n").encode()


def _lines(report: Report, contents: Mapping[str, bytes], writer: MarkdownWriter) -> Iterator[str]:
    page = page_of(report, contents)
    happened, cause, timeline, evidence, ruled_out, coverage, _, earlier = page.sections
    yield f"# Postmortem (draft): {writer.line(page.title)}"
    for line in (*page.banner, _origin(report)):
        yield ""
        yield writer.line(line)
    sections = (
        Section(
            "Summary", (Paragraph(summary_line(report)), _ask("what it meant, in words for whoever was not there"))
        ),
        Section("Impact", (_ask("who was affected, by what, how many, and for how long"), *_lasted(report))),
        happened,
        timeline,
        Section(
            "Detection", (*_detection(report), _ask("whether that was soon enough, and what would have been sooner"))
        ),
        Section("Response", (_ask("who did what, when, and what ended the trouble"),)),
        cause,
        ruled_out,
        Section("What went well, what did not, where luck helped", (_ask("three short lists"),)),
        Section("Actions", _actions(report)),
        earlier,
        evidence,
        coverage,
    )
    yield from writer.sections(sections, page.footer)


def _ask(what: str) -> Block:
    return Paragraph((Strong(TO_BE_WRITTEN), Plain(f": {what}.")))


def _origin(report: Report) -> Line:
    return (
        Plain("Drafted by Inquest from its report. What only people know is marked "),
        Strong(TO_BE_WRITTEN),
        Plain(
            f"; [E1] and so on name evidence below. Verify the report first: inquest verify {report.investigation_id}"
        ),
    )


def _lasted(report: Report) -> tuple[Block, ...]:
    """Say what is known of how long it took: the alerts, which are not the harm."""
    began = report.episode.primary.alert.starts_at or report.episode.opened_at
    if report.resolved_at is None:
        return (Paragraph((Plain(f"The alert fires since {moment(began)}; no end is recorded."),)),)
    minutes = max(0, round((report.resolved_at - began).total_seconds() / 60))
    said = f"The alert fired from {moment(began)} to {moment(report.resolved_at)}: {minutes} min. Harm may have lasted longer."
    return (Paragraph((Plain(said),)),)


def _detection(report: Report) -> tuple[Block, ...]:
    began = report.episode.primary.alert.starts_at or report.episode.opened_at
    onset = None if report.diagnosis is None else report.diagnosis.onset
    rows: list[Line] = []
    if onset is not None:
        rows.append((Plain(f"The trouble began at {moment(onset.at)}, as the evidence shows."),))
    rows.append((Plain(f"The first alert fired at {moment(began)}."),))
    if onset is not None:
        minutes = round((began - onset.at).total_seconds() / 60)
        if minutes >= 0:
            rows.append((Plain(f"That is {minutes} min later."),))
    if report.started_at is not None:
        rows.append((Plain(f"The investigation began at {moment(report.started_at)}."),))
    return (Bullets(tuple(rows)),)


def _actions(report: Report) -> tuple[Block, ...]:
    diagnosis = report.diagnosis
    if diagnosis is None:
        return (
            Paragraph((Plain(NO_DIAGNOSIS),)),
            _ask("what is done so that this does not come back, by whom, until when"),
        )
    proposed: list[tuple[str, str]] = [(step.text, step.risk) for step in diagnosis.remediation_steps]
    proposed += [(check, "") for check in diagnosis.next_checks]
    rows = tuple(((foreign(text),), (Plain(risk),), (Plain(""),), (Plain(""),)) for text, risk in proposed)
    table: tuple[Block, ...] = (Table(("proposed, not done", "risk", "owner", "until"), rows),) if rows else ()
    return (*table, _ask("which of these are done, and what else, by whom, until when"))
