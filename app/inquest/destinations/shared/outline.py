"""From a report to its page: the sections of every form, in their order. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.destinations.shared.outline_cause import cause_section, summary_line
from inquest.destinations.shared.outline_evidence import coverage_section, evidence_section
from inquest.destinations.shared.outline_footer import footer_lines
from inquest.destinations.shared.outline_time import timeline_section
from inquest.destinations.shared.page import (
    Block,
    Bullets,
    Code,
    Line,
    Link,
    Page,
    Paragraph,
    Plain,
    Section,
    Strong,
    cited,
    code,
    foreign,
    joined,
    refs,
)
from inquest.destinations.shared.words import CANCELLED_BECAUSE, KINDS, moment, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquest.domain.investigation import ServiceGuess
    from inquest.domain.report import Report

MAX_ALERTS = 50
"""Of the episode, in the page; report.json has them all."""
LINK_ANNOTATIONS = ("runbook_url", "dashboard_url")


def page_of(report: Report, contents: Mapping[str, bytes], left_out: Mapping[str, int] | None = None) -> Page:
    """Lay out a report.

    `contents` are full contents by digest: for the sparklines. `left_out` gives the size in bytes of contents
    that do not travel with the form, by evidence name.
    """
    return Page(
        banner=_banner(report),
        title=_title(report),
        summary=summary_line(report),
        sections=(
            _what_happened(report),
            cause_section(report),
            timeline_section(report),
            evidence_section(report, contents, left_out or {}),
            _ruled_out(report),
            coverage_section(report),
            _next_steps(report),
            _earlier(report),
        ),
        footer=footer_lines(report),
    )


def _banner(report: Report) -> tuple[Line, ...]:
    """Say first what keeps a reader from taking the report for more than it is."""
    lines: list[Line] = []
    if report.diagnosis is not None and report.diagnosis.degraded:
        reason = foreign(report.diagnosis.degraded)
        lines.append(
            (Strong("Degraded"), Plain(": concluded by the built-in analyst, not by the model, because "), reason)
        )
    if report.kind != "report":
        said = KINDS[report.kind]
        lines.append((Strong(said.word), Plain(f": {said.meaning}"), *_noted(report)))
    return tuple(lines)


def _noted(report: Report) -> Line:
    if report.kind == "question":
        return (Plain(" "), foreign(report.note), *_how_to_answer(report))
    if report.kind == "cancelled" and report.note in CANCELLED_BECAUSE:
        return (Plain(f" {CANCELLED_BECAUSE[report.note]}"),)
    return (Plain(" "), foreign(report.note)) if report.note else ()


def _how_to_answer(report: Report) -> Line:
    """Say how the question is answered: nobody who reads a message can be expected to know."""
    name = report.investigation_id
    return (
        Plain(" Answer with "),
        Code(f'inquest answer {name} "TEXT"'),
        Plain(" or at "),
        Code(f"POST /v1/investigations/{name}/answer"),
        Plain("; without an answer it goes on after seven days."),
    )


def _title(report: Report) -> Line:
    of_service: Line = (Plain(" of "), code(report.service)) if report.service else ()
    return (code(report.title), *of_service)


def _what_happened(report: Report) -> Section:
    episode = report.episode
    alert = episode.primary.alert
    began = alert.starts_at or episode.opened_at
    where: Line = (Plain(", service "), code(report.service)) if report.service else ()
    first: Line = (
        Plain("Alert "),
        code(report.title),
        *where,
        Plain(", severity "),
        foreign(report.severity or "not given"),
        Plain(", fires since " if report.episode_state == "firing" else ", fired from "),
        Strong(moment(began)),
        *_resolved(report),
    )
    blocks: list[Block] = [Paragraph(first)]
    summary = alert.annotations.get("summary") or alert.annotations.get("description") or ""
    if summary:
        blocks.append(Paragraph((Plain("It says: "), foreign(summary))))
    if report.service_guess is not None:
        blocks.append(Paragraph(_guess(report.service_guess)))
    if report.window is not None:
        reach = report.window.incident
        blocks.append(Paragraph((Plain(f"Looked at: {moment(reach.start)} to {moment(reach.end)}."),)))
    links = [(Link(name, alert.annotations[name]),) for name in LINK_ANNOTATIONS if alert.annotations.get(name)]
    if alert.generator_url:
        links.append((Link("the alert at its source", alert.generator_url),))
    if links:
        blocks.append(Paragraph((Plain("The alert links to: "), *joined(list(links), ", "))))
    blocks.extend(_asked(report))
    blocks.append(_members(report))
    return Section("What happened and since when", tuple(blocks))


def _guess(guess: ServiceGuess) -> Line:
    """Show which service it is taken for, and how that is known."""
    if guess.how == "none":
        return (Plain("No service could be told from the alert."),)
    how = {"catalogue": "as the service catalogue says", "label": "as the alert's label says"}
    known = how.get(guess.how, "guessed by convention")
    return (Plain("Taken for service "), code(guess.service_id), Plain(f", {known}."))


def _asked(report: Report) -> list[Block]:
    """Show what a human was asked and said: no code has checked it, and the diagnosis may rest on it."""
    rows: list[Line] = []
    for one in report.questions:
        if one.answer is not None:
            said: Line = (Plain(" Answered by "), foreign(one.actor), Plain(", unchecked: "), foreign(one.answer))
        else:
            said = (Plain(" Nobody answered." if one.expired else " Not answered yet."),)
        rows.append((Plain("A human was asked: "), foreign(one.prompt), *said))
    return [Bullets(tuple(rows))] if rows else []


def _resolved(report: Report) -> Line:
    if report.episode_state == "firing":
        return (Plain("; it still fires."),)
    if report.resolved_at is None:
        return (Plain("; it no longer fires."),)
    return (Plain(" to "), Strong(moment(report.resolved_at)), Plain("."))


def _members(report: Report) -> Block:
    members = report.episode.members
    rows: list[Line] = []
    for member in members[:MAX_ALERTS]:
        alert = member.alert
        seen = f"{alert.status.value}, since {moment(alert.starts_at or member.first_seen)}"
        rows.append((code(alert.name), Plain(f" {seen}, posted {plural(member.occurrences, 'time')}")))
    if len(members) > MAX_ALERTS:
        rows.append((Plain(f"and {len(members) - MAX_ALERTS} more alerts, all of them in report.json"),))
    return Bullets(tuple(rows))


def _ruled_out(report: Report) -> Section:
    rows: list[Line] = []
    if report.diagnosis is not None:
        rows.extend(
            (foreign(one.hypothesis.rstrip(". ")), Plain(": "), foreign(one.reason), *cited(one.citations))
            for one in report.diagnosis.ruled_out
        )
    for entry in report.ledger.entries:
        if entry.judgement == "refuted":
            why: Line = (Plain(": "), foreign(entry.reason)) if entry.reason else ()
            rows.append((Plain("refuted: "), foreign(entry.hypothesis.text.rstrip(". ")), *why, *refs(entry.evidence)))
    return Section("Ruled out", (Bullets(tuple(rows)) if rows else Paragraph((Plain("Nothing was ruled out."),)),))


def _next_steps(report: Report) -> Section:
    diagnosis = report.diagnosis
    rows: list[Line] = []
    for step in () if diagnosis is None else diagnosis.remediation_steps:
        warned: Line = ()
        if step.from_evidence:
            warned = (Plain(" "), Strong("(words of this step were read in evidence: check it before you run it)"))
        rows.append((foreign(step.text), Plain(f" (risk: {step.risk})"), *warned))
    checks = () if diagnosis is None else diagnosis.next_checks
    rows.extend((Plain("to check: "), foreign(check)) for check in checks)
    blocks: tuple[Block, ...] = (
        Paragraph((Plain("Nothing was changed: these are for a human."),)),
        Bullets(tuple(rows)),
    )
    return Section("Next steps", blocks if rows else (Paragraph((Plain("None proposed."),)),))


def _earlier(report: Report) -> Section:
    rows = tuple(
        (
            Plain(f"{moment(one.opened_at)}: "),
            foreign(one.verdict.replace("_", " ")),
            *((Plain(", "), foreign(one.root_cause)) if one.root_cause else ()),
            Plain(" ("),
            Code(one.investigation_id),
            Plain(")"),
        )
        for one in report.earlier
    )
    nothing = Paragraph((Plain("None on record for this group of alerts."),))
    return Section("Earlier episodes", (Bullets(rows) if rows else nothing,))
