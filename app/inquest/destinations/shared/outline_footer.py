"""The footer: what it took, which ceilings were met, who answered, and whether it is signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.destinations.shared.page import Code, Line, Plain, Strong, code
from inquest.destinations.shared.words import STILL_GOING, dollars, duration, moment, plural

if TYPE_CHECKING:
    from inquest.domain.report import Report

ANALYST = "analyst"
"""The built-in one uses no tokens: nobody has to say how many."""


def footer_lines(report: Report) -> tuple[Line, ...]:
    """Give the lines of the footer, in order."""
    spend, limits = report.spend, report.limits
    lines: list[Line] = [
        (
            Plain("Investigation "),
            Code(report.investigation_id),
            Plain(" in workspace "),
            code(report.workspace),
            Plain(f", {_revision(report)} ({report.kind})"),
        ),
        (Plain(_times(report)),),
        (
            Plain(
                f"Used: {spend.model_turns} of {limits.max_model_turns} turns, "
                f"{spend.connector_effects} of {limits.max_connector_effects} tool calls, "
                f"{spend.input_tokens + spend.output_tokens:,} of {limits.max_tokens:,} tokens, "
                f"{dollars(spend.usd_micros)} of {dollars(limits.max_usd_micros)}, "
                f"at most {limits.wall_clock_s} s; {_questions(report)}{_internal(report)}"
            ),
        ),
    ]
    asked_a_provider = report.model != ANALYST
    if asked_a_provider and (spend.turns_of_unknown_usage or spend.turns_of_unknown_cost):
        lines.append((Plain(_unknown(report)),))
    hit = ", ".join(report.limits_hit)
    lines.append((Plain("Limits hit: "), code(hit) if hit else Plain("none")))
    unsaid = Plain("has not ended" if report.kind in STILL_GOING else "none")
    stopped = code(report.stop_reason) if report.stop_reason else unsaid
    lines.append(
        (Plain("Model: "), code(report.model) if report.model else Plain("none"), Plain("; stop reason: "), stopped)
    )
    lines.append(_signed(report))
    return tuple(lines)


def _revision(report: Report) -> str:
    """Name the revision; one that is written for whoever asks, from what is recorded, has no number of its own."""
    return f"revision {report.revision}" if report.revision else "no delivered revision: written when it was asked for"


def _times(report: Report) -> str:
    if report.started_at is None:
        return "Not started."
    if report.ended_at is None:
        return f"Started {moment(report.started_at)}, not ended."
    return f"{moment(report.started_at)} to {moment(report.ended_at)}, {duration(report.ended_at - report.started_at)}."


def _questions(report: Report) -> str:
    """Count the questions to a human, where any may be asked."""
    most = report.limits.max_questions
    return f"{len(report.questions)} of {plural(most, 'question')}, " if most else ""


def _internal(report: Report) -> str:
    spend = report.spend
    return (
        f"{plural(spend.internal_calls, 'internal call')}, {spend.replayed_calls} replayed, "
        f"{spend.refused_calls} refused."
    )


def _unknown(report: Report) -> str:
    spend = report.spend
    return (
        f"The provider did not say what {plural(spend.turns_of_unknown_usage, 'turn')} used "
        f"nor what {plural(spend.turns_of_unknown_cost, 'turn')} cost: these are not in the totals."
    )


def _signed(report: Report) -> Line:
    if report.terminal_digest is None:
        return (Strong("Not signed"), Plain(": there is no terminal event."))
    if report.signature is None:
        return (Strong("Not signed"), Plain("; terminal digest "), Code(report.terminal_digest))
    key = report.signature.public_key
    return (Plain("Signed with key "), Code(key), Plain(" over the terminal digest "), Code(report.terminal_digest))
