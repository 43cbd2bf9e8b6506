"""Cutting a page to the size of a sink: the least important parts first, and never silently. Pure.

What is left out is counted where it stood, and a line of the footer says where the whole of it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inquest.destinations.shared.page import (
    Block,
    Bullets,
    Code,
    Copy,
    Foreign,
    Inline,
    Line,
    Link,
    Page,
    Paragraph,
    Plain,
    Section,
    Strong,
    Table,
)
from inquest.destinations.shared.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Cut:
    """What may stay of a section: rows of a block, characters of a text to copy, of an address, of a piece."""

    rows: int
    copied: int
    address: int
    piece: int = 600


CUTS = (
    Cut(40, 2_000, 2_000),
    Cut(20, 500, 300),
    Cut(10, 200, 300),
    Cut(5, 0, 100),
    Cut(2, 0, 0, 200),
    Cut(0, 0, 0, 60),
)
"""Each cuts more than the one before; the last leaves a heading and a count."""
CUT_FIRST = (5, 7, 3, 4, 2, 0, 6, 1)
"""Sections of a page in the order in which they are cut: coverage, earlier, evidence .. next steps, cause."""
SHORT_PIECES = (200, 60)
"""Characters of a foreign piece in what is no section, when the sections alone were not enough."""


def fitted(page: Page, fits: Callable[[Page], bool], whole: Line) -> Page:
    """Give `page` when it `fits`, else the longest of its shortenings that does, with `whole` in its footer.

    The shortest one is given when none fits.
    """
    if fits(page):
        return page
    shorter = replace(page, footer=(whole, *page.footer))
    for cut in CUTS:
        for index in CUT_FIRST:
            sections = [*shorter.sections]
            sections[index] = _cut_section(page.sections[index], cut)
            shorter = replace(shorter, sections=tuple(sections))
            if fits(shorter):
                return shorter
    for limit in SHORT_PIECES:
        shorter = replace(
            shorter,
            banner=tuple(short_line(line, limit) for line in shorter.banner),
            title=short_line(shorter.title, limit),
            summary=short_line(shorter.summary, limit),
            footer=tuple(short_line(line, limit) for line in shorter.footer),
        )
        if fits(shorter):
            return shorter
    return shorter


def shortened(investigation_id: str) -> Line:
    """Say that a form is shortened, and where the whole report is."""
    return (
        Strong("This is shortened."),
        Plain(" The whole report is what "),
        Code(f"inquest show {investigation_id}"),
        Plain(" prints, and in the report folder of that name."),
    )


def short_line(line: Line, limit: int, address: int | None = None) -> Line:
    """Cut each foreign piece to `limit` characters, and leave out addresses longer than `address`."""
    return tuple(_short(piece, limit, limit if address is None else address) for piece in line)


def _short(piece: Inline, limit: int, address: int) -> Inline:
    match piece:
        case Foreign(text=text) if len(text) > limit:
            return Foreign(text[:limit], " (cut)")
        case Code(text=text) if len(text) > limit:
            return Code(text[:limit], " (cut)")
        case Link(label=label, url=url) if len(url) > address:
            return Plain(f"{label} (address left out)")
        case _:
            return piece


def _cut_section(section: Section, cut: Cut) -> Section:
    if cut.rows == 0:
        return Section(section.title, (_left_out(_lines(section.blocks), "line"),))
    blocks: list[Block] = []
    copies = [block for block in section.blocks if isinstance(block, Copy)]
    kept = copies[: cut.rows] if cut.copied else []
    for block in section.blocks:
        if not isinstance(block, Copy):
            blocks += _cut_block(block, cut)
        elif any(block is one for one in kept):
            blocks.append(_cut_copy(block, cut))
    if len(kept) < len(copies):
        blocks.append(_left_out(len(copies) - len(kept), "text", "to copy"))
    return Section(section.title, tuple(blocks))


def _cut_block(block: Paragraph | Bullets | Table, cut: Cut) -> list[Block]:
    match block:
        case Paragraph(line=line):
            return [Paragraph(short_line(line, cut.piece, cut.address))]
        case Bullets(items=items):
            kept: Block = Bullets(tuple(short_line(item, cut.piece, cut.address) for item in items[: cut.rows]))
            return [kept, *_rest(len(items) - cut.rows)]
        case Table(head=head, rows=rows, anchors=anchors):
            short = tuple(tuple(short_line(cell, cut.piece, cut.address) for cell in row) for row in rows[: cut.rows])
            return [Table(head, short, anchors[: cut.rows]), *_rest(len(rows) - cut.rows)]


def _rest(left: int) -> list[Block]:
    return [_left_out(left, "row")] if left > 0 else []


def _cut_copy(block: Copy, cut: Cut) -> Copy:
    if len(block.text) <= cut.copied:
        return block
    return Copy(block.label, block.text[: cut.copied], f" (cut here: {len(block.text):,} characters in all)")


def _left_out(number: int, noun: str, more: str = "") -> Paragraph:
    said = " ".join(word for word in ("and", plural(number, f"more {noun}"), more) if word)
    return Paragraph((Plain(f"{said}, in the whole report"),))


def _lines(blocks: tuple[Block, ...]) -> int:
    sizes = {Bullets: lambda block: len(block.items), Table: lambda block: len(block.rows)}
    return sum(sizes.get(type(block), lambda _: 1)(block) for block in blocks)
