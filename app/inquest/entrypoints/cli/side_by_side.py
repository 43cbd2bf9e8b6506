"""A comparison as text: two columns, what differs marked; colour only where somebody looks (click strips it else)."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

import typer

from inquest.destinations.shared.escape import terminal
from inquest.domain.value import Json
from inquest.stages.comparison import Answer, Comparison, EvidenceDifference, Field, Part, Texts
from inquest.stages.comparison_claims import ClaimDifference

WIDTH = 120
"""Of the text, where the terminal does not say another."""
MIN_WIDTH = 60
_LABEL = 28
"""Wider than the longest name of a field."""
_MARK = "≠ "
MAX_TEXT_CHARS = 600
"""Of one cell; the whole is in --json."""
_HEADINGS: dict[Part, str] = {
    "identity": "Which",
    "window": "Window",
    "conclusion": "Conclusion",
    "run": "How it was reached",
    "spend": "Spend",
}
_COLOURS = {"≠": "yellow", "+": "green", "-": "red"}


def side_by_side(found: Comparison) -> str:
    """Write the comparison. Foreign text is one line each and cannot steer a terminal."""
    width = max(MIN_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    lines = [_verdict(found), ""]
    for part, heading in _HEADINGS.items():
        fields = [field for field in found.fields if field.part == part]
        lines += [_heading(heading), *(line for field in fields for line in _field(field, width)), ""]
    lines += [_heading(f"Claims (the same in both: {found.claims_alike})"), *_claims(found.claims, width), ""]
    lines += [
        _heading(f"Evidence (the same answer in both: {found.evidence_alike})"),
        *_evidence(found.evidence, width),
        "",
    ]
    lines += [_heading(f"Ruled out (in both: {found.ruled_out.in_both})"), *_texts(found.ruled_out, width), ""]
    lines += [_heading(f"Limits hit (in both: {found.limits_hit.in_both})"), *_texts(found.limits_hit, width)]
    return "\n".join(lines)


def _verdict(found: Comparison) -> str:
    if found.is_same:
        return typer.style("The same conclusion, from the same evidence.", fg="green", bold=True)
    if found.same_conclusion:
        return typer.style("The same conclusion; what differs is marked.", fg="green", bold=True)
    return typer.style("Another conclusion; what differs is marked.", fg="yellow", bold=True)


def _heading(text: str) -> str:
    return typer.style(text, bold=True)


def _field(field: Field, width: int) -> Iterator[str]:
    """Give a field in two columns; one that is the same in both, once."""
    mark = "" if field.same else _MARK
    label = f"{mark or '  '}{field.name.replace('_', ' ')}"
    if field.same:
        yield from _columns(label, (_cell(field.a),), width)
    else:
        yield from _columns(label, (_cell(field.a), _cell(field.b)), width)


def _cell(value: Json) -> str:
    match value:
        case None | "":
            return "-"
        case str():
            text = terminal(value)
            return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}…"
        case _:
            return str(value)


def _columns(label: str, cells: Sequence[str], width: int) -> Iterator[str]:
    each = (width - _LABEL - 1 - 2 * (len(cells) - 1)) // len(cells)
    wrapped = [textwrap.wrap(cell, each, break_on_hyphens=False) or [""] for cell in cells]
    for number in range(max(len(lines) for lines in wrapped)):
        row = "  ".join((lines[number] if number < len(lines) else "").ljust(each) for lines in wrapped)
        head = label if number == 0 else ""
        yield _coloured(f"{head:<{_LABEL}} {row}".rstrip())


def _claims(differ: Sequence[ClaimDifference], width: int) -> Iterator[str]:
    words = {"validated": "validated", "not_validated": "not validated", "not_made": "not made"}
    for one in differ:
        why = f" ({terminal(one.reason)})" if one.reason else ""
        other = f" -- in B: {_cell(one.other_text)}" if one.other_text else ""
        yield from _item(f"≠ {_how(one, words)}: {_cell(one.text)}{other}{why}", width)


def _how(one: ClaimDifference, words: Mapping[str, str]) -> str:
    """Say how a claim stands; one that both have in other words, once."""
    if one.a == one.b:
        return f"{words[one.a]} in both, with other figures"
    return f"A {words[one.a]}, B {words[one.b]}"


def _evidence(differ: Sequence[EvidenceDifference], width: int) -> Iterator[str]:
    for one in differ:
        asked = f"{terminal(one.tool)} {_cell(one.expression)}"
        match one.what:
            case "only_in_a":
                yield from _item(f"- only in A, {_answer(one.a)}: {asked}", width)
            case "only_in_b":
                yield from _item(f"+ only in B, {_answer(one.b)}: {asked}", width)
            case "other_answer":
                yield from _item(f"≠ another answer, A {_answer(one.a)}, B {_answer(one.b)}: {asked}", width)
            case "other_range":
                yield from _item(f"≠ over another range, A {_answer(one.a)}, B {_answer(one.b)}: {asked}", width)
            case unknown:
                assert_never(unknown)


def _answer(answer: Answer | None) -> str:
    return "-" if answer is None else answer.evidence


def _texts(texts: Texts, width: int) -> Iterator[str]:
    for sign, side, only in (("-", "A", texts.only_a), ("+", "B", texts.only_b)):
        for text in only:
            yield from _item(f"{sign} only in {side}: {_cell(text)}", width)


def _item(text: str, width: int) -> Iterator[str]:
    lines = textwrap.wrap(text, width, subsequent_indent="    ", break_on_hyphens=False)
    yield from (_coloured(line, text[0]) for line in lines)


def _coloured(line: str, sign: str = "") -> str:
    colour = _COLOURS.get(sign or line[:1])
    return typer.style(line, fg=colour) if colour else line
