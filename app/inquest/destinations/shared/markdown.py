"""The Markdown form: GitHub-flavoured, without raw HTML, readable as plain text too."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from inquest.destinations.shared.escape import (
    allowed_url,
    markdown_code,
    markdown_fence,
    markdown_prose,
    markdown_url,
)
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
    Ref,
    Section,
    Spark,
    Strong,
    Table,
)
from inquest.destinations.shared.sparkline import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def markdown(page: Page, hosts: frozenset[str]) -> bytes:
    """Write a page as Markdown in UTF-8. Links go to `hosts` only; any other address stands as text."""
    writer = MarkdownWriter(hosts)
    return ("\n".join(writer.page(page)) + "\n").encode()


class MarkdownWriter:
    """Writes the parts of a page as lines of Markdown. A sink with meanings of its own overrides `prose`."""

    def __init__(self, hosts: frozenset[str]) -> None:
        self._hosts = hosts

    def page(self, page: Page) -> Iterator[str]:
        """Give the lines of the whole page."""
        for line in page.banner:
            yield self.line(line)
            yield ""
        yield f"# Incident report: {self.line(page.title)}"
        yield ""
        yield self.line(page.summary)
        yield from self.sections(page.sections, page.footer)

    def sections(self, sections: Iterable[Section], footer: Iterable[Line]) -> Iterator[str]:
        """Give the lines of what stands below a title: each section, and the footer under a rule."""
        for section in sections:
            yield ""
            yield f"## {section.title}"
            for block in section.blocks:
                yield ""
                yield from self.block(block)
        yield ""
        yield "---"
        for line in footer:
            yield ""
            yield self.line(line)

    def block(self, block: Block) -> Iterator[str]:
        """Give the lines of one block."""
        match block:
            case Paragraph(line=line):
                yield self.line(line)
            case Bullets(items=items):
                for item in items:
                    yield f"- {self.line(item)}"
            case Table():
                yield from self.table(block)
            case Copy(label=label, text=text, more=more):
                yield f"- {self.line(label)}{more}"
                yield ""
                yield markdown_fence(text, indent="  ")
            case unknown:
                assert_never(unknown)

    def table(self, table: Table) -> Iterator[str]:
        """Give the lines of a table."""
        yield f"| {' | '.join(table.head)} |"
        yield f"|{'---|' * len(table.head)}"
        for row in table.rows:
            cells = (self.line(cell, in_table=True) for cell in row)
            yield f"| {' | '.join(cells)} |"

    def line(self, line: Line, *, in_table: bool = False) -> str:
        """Write one line."""
        return "".join(self.inline(piece, in_table=in_table) for piece in line).strip()

    def inline(self, piece: Inline, *, in_table: bool) -> str:
        """Write one piece of a line."""
        match piece:
            case Plain(text=text):
                shown = text
            case Strong(text=text):
                shown = f"**{text}**"
            case Foreign(text=text, more=more):
                shown = self.prose(text, in_table=in_table) + more
            case Code(text=text, more=more):
                shown = markdown_code(text, in_table=in_table) + more
            case Link():
                shown = self.link(piece, in_table=in_table)
            case Ref(evidence=evidence):
                shown = f"[{evidence}]"
            case Spark(shape=shape):
                shown = as_text(shape)
            case unknown:
                assert_never(unknown)
        return shown

    def prose(self, text: str, *, in_table: bool) -> str:
        """Write foreign prose on one line."""
        return markdown_prose(text, in_table=in_table)

    def link(self, link: Link, *, in_table: bool) -> str:
        """Write a link, or the text that stands where none may be."""
        allowed = allowed_url(link.url, self._hosts)
        if allowed is None:
            return f"{link.label} {markdown_code(link.inert, in_table=in_table)}"
        return f"[{link.label}]({markdown_url(allowed)})"
