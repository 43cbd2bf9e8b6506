"""Claims and steps of the chain, made from an appraisal: each sentence is rendered from its type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.domain.claim import Absent, Change, ChangeEvent, Claim, Onset, Precedes, Present, ValueAt
from inquest.domain.diagnosis import ChainStep
from inquest.domain.value import from_epoch_ms
from inquest.stages.claims import render

if TYPE_CHECKING:
    from inquest.domain.claim import Citation
    from inquest.domain.signals import ChangeRecord
    from inquest.investigators.analyst.appraisal import NovelLines
    from inquest.investigators.analyst.changes import SuspectChange
    from inquest.investigators.analyst.exhibit import Course, Exhibit
    from inquest.investigators.analyst.signs import Saturation

MAX_FRAGMENT_CHARS = 160
SIGNIFICANT_DIGITS = 4
"""Of a value with a fraction; a whole part is never cut: a claim is checked to the digits that it quotes."""


def rendered(claim: Claim) -> Claim:
    """Give `claim` with the sentence of its type."""
    return claim.model_copy(update={"text": render(claim)})


def readable(value: float) -> float:
    """Round to SIGNIFICANT_DIGITS, but no digit before the point: 1234567.8 gives 1234568."""
    if abs(value) >= 10**SIGNIFICANT_DIGITS:
        return float(round(value))
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def onset_claims(course: Course) -> tuple[Claim, ...]:
    """Say that the series left its baseline, when, and from what to what."""
    if course.onset is None:
        return ()
    at = from_epoch_ms(course.onset.at_ms)
    cited = (course.cited,)
    onset = Onset(text="", citations=cited, subject=course.subject, at=at)
    change = Change(
        text="",
        citations=cited,
        subject=course.subject,
        at=at,
        before=readable(course.onset.before),
        after=readable(course.onset.extreme),
    )
    return rendered(onset), rendered(change)


def saturation_claims(saturation: Saturation) -> tuple[Claim, ...]:
    """Say how much was used, and what the limit was, at the moment when it was first full."""
    return tuple(
        rendered(
            ValueAt(
                text="",
                citations=(cited,),
                subject=sign.course.subject,
                at=from_epoch_ms(saturation.at_ms),
                value=value,
            )
        )
        for sign in (saturation.used, saturation.limit)
        for cited, value in [_sample(sign.exhibit, sign.course, saturation.at_ms)]
    )


def _sample(exhibit: Exhibit, course: Course, at_ms: int) -> tuple[Citation, float]:
    """Cite the sample of `course` at `at_ms`."""
    series = int(course.cited.pointer.rsplit("/", 1)[-1])
    points = exhibit.content.series[series].points if exhibit.content.kind == "matrix" else ()
    number = next(index for index, point in enumerate(points) if point[0] == at_ms)
    value = points[number][1]
    return exhibit.cite(f"{course.cited.pointer}/points/{number}/1", value), value or 0.0


def named(change: ChangeRecord) -> str:
    """Name a change in words that its record holds: "deployment shop/checkout"."""
    return f"{change.change.replace('_', ' ')} of {change.service}" if change.service else change.title


def change_citation(found: SuspectChange) -> Citation:
    """Cite the record of a change."""
    return found.exhibit.cite(found.pointer, {})


def change_claims(found: SuspectChange, course: Course) -> tuple[Claim, ...]:
    """Say that the change happened, and that it came before the onset of `course`."""
    change = found.suspect.change
    at = from_epoch_ms(change.time)
    cited = change_citation(found)
    event = ChangeEvent(text="", citations=(cited,), change_id=change.change_id, what=named(change), at=at)
    claims = [rendered(event)]
    if course.onset is not None and change.time < course.onset.at_ms:
        claims.append(
            rendered(
                Precedes(
                    text="",
                    citations=(cited, course.cited),
                    first=named(change),
                    first_at=at,
                    then=course.subject,
                    then_at=from_epoch_ms(course.onset.at_ms),
                )
            )
        )
    return tuple(claims)


def no_change_claim(exhibit: Exhibit) -> Claim:
    """Say that a complete answer about changes was empty."""
    query = exhibit.item.observation.expression or exhibit.item.observation.tool
    return rendered(Absent(text="", citations=(exhibit.cite("", {}),), query=query))


def novel_claim(found: NovelLines) -> Claim:
    """Say that a line of the incident contains what no line of the baseline did."""
    line = found.exhibit.content.lines[found.novel.line_index].line if found.exhibit.content.kind == "logs" else ""
    fragment = line[:MAX_FRAGMENT_CHARS]
    cited = found.exhibit.cite(f"/lines/{found.novel.line_index}/line", line)
    return rendered(Present(text="", citations=(cited,), fragment=fragment))


def step(at_ms: int, text: str, *citations: Citation) -> ChainStep:
    """Give one step of the chain."""
    return ChainStep(at=from_epoch_ms(at_ms), text=text, citations=citations)
