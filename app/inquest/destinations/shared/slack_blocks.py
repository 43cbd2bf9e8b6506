"""The Slack forms of a report: the root of its thread, and the reply with the whole of it. Pure.

Within what Slack takes: 50 blocks, 150 characters of a header, 3,000 of a section, and about 13,200 of all
blocks together, which Slack documents nowhere (`msg_blocks_too_long`): ours end at 10,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from inquest.destinations.shared.fitting import fitted, shortened
from inquest.destinations.shared.outline import page_of
from inquest.destinations.shared.page import (
    Block,
    Bullets,
    Code,
    Copy,
    Line,
    Page,
    Paragraph,
    Plain,
    Table,
    joined,
)
from inquest.destinations.shared.slack_text import MAX_LINE_CHARS, bare_words, entities, slack_code, slack_line
from inquest.domain.canonical import canonical_json
from inquest.domain.value import Json, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from inquest.domain.report import Report

MAX_MESSAGE_CHARS = 10_000
"""Of all blocks of a message as JSON, their containers and entities counted."""
MAX_BLOCKS = 50
MAX_HEADER_CHARS = 150
MAX_CONTEXT_CHARS = 1_900
MAX_FALLBACK_CHARS = 3_000
CUT_SIGN = "…"


class SlackMessage(Value):
    """What is sent: the blocks, and the text that stands in notifications, or alone where blocks are refused."""

    text: str = Field(max_length=MAX_FALLBACK_CHARS)
    blocks: tuple[dict[str, Json], ...] = Field(max_length=MAX_BLOCKS)


def root_message(report: Report, hosts: frozenset[str], *, alone: bool = False) -> SlackMessage:
    """Write the root of a thread: what is wrong, where it stands, and the verdict once there is one.

    `alone`: no reply follows it.
    """
    page = page_of(report, {})
    what = page.sections[0].blocks[0]
    lines: list[Line] = [page.title]
    if report.diagnosis is not None:
        lines.append(page.summary)
    if isinstance(what, Paragraph):
        lines.append(what.line)
    where = "" if alone or report.diagnosis is None else " The report is in this thread."
    last: Line = (
        Plain("Investigation "),
        Code(report.investigation_id),
        Plain(f", revision {report.revision}.{where}"),
    )
    blocks = [
        *_sections(slack_line(line, hosts) for line in page.banner),
        _header(page.title),
        *_sections(slack_line(line, hosts) for line in lines),
        *_context([last], hosts),
    ]
    return SlackMessage(text=_fallback(report, page), blocks=tuple(blocks))


def report_message(report: Report, contents: Mapping[str, bytes], hosts: frozenset[str]) -> SlackMessage:
    """Write the whole report as one message; what does not fit is counted, and the footer says where it is."""
    page = page_of(report, contents)

    def fits(shorter: Page) -> bool:
        blocks = _page_blocks(shorter, hosts)
        return len(blocks) <= MAX_BLOCKS and len(canonical_json([*blocks]).decode()) <= MAX_MESSAGE_CHARS

    short = fitted(page, fits, shortened(report.investigation_id))
    return SlackMessage(text=_fallback(report, page), blocks=tuple(_page_blocks(short, hosts)))


def _page_blocks(page: Page, hosts: frozenset[str]) -> list[dict[str, Json]]:
    before = [slack_line(line, hosts) for line in page.banner]
    texts = [slack_line(page.title, hosts), slack_line(page.summary, hosts)]
    for section in page.sections:
        texts.append("")
        texts.append(f"*{section.title}*")
        for block in section.blocks:
            texts += _block_lines(block, hosts)
    return [*_sections(before), _header(page.title), *_sections(texts), *_context(page.footer, hosts)]


def _block_lines(block: Block, hosts: frozenset[str]) -> Iterator[str]:
    match block:
        case Paragraph(line=line):
            yield slack_line(line, hosts)
        case Bullets(items=items):
            for item in items:
                yield _bullet(slack_line(item, hosts))
        case Table(rows=rows):
            for row in rows:
                yield _bullet(slack_line(joined([cell for cell in row if cell], " · "), hosts))
        case Copy(label=label, text=text, more=more):
            yield _bullet(f"{slack_line(label, hosts)}{more}")
            yield _copied(text)


def _bullet(text: str) -> str:
    return f"• {text}"


def _copied(text: str) -> str:
    """Write a text to copy; one that is too long even for a line of its own says so."""
    written = slack_code(text)
    return written if len(written) <= MAX_LINE_CHARS else "(too long for Slack, in the whole report)"


def _header(title: Line) -> dict[str, Json]:
    """Write the title without markup, cut to its limit; the whole of it stands in the text below."""
    words = bare_words(title) or "Incident"
    text = entities(words)
    shown = min(len(words), MAX_HEADER_CHARS)
    while len(text) > MAX_HEADER_CHARS:
        shown -= 1
        text = entities(words[:shown]) + CUT_SIGN
    return {"type": "header", "text": {"type": "plain_text", "text": text, "emoji": False}}


def _sections(lines: Iterable[str]) -> list[dict[str, Json]]:
    return [{"type": "section", "text": _mrkdwn(text)} for text in _packed(lines, MAX_LINE_CHARS + 50)]


def _context(lines: Iterable[Line], hosts: frozenset[str]) -> list[dict[str, Json]]:
    texts = _packed((slack_line(line, hosts) for line in lines), MAX_CONTEXT_CHARS)
    return [{"type": "context", "elements": [_mrkdwn(text)]} for text in texts]


def _mrkdwn(text: str) -> dict[str, Json]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _packed(lines: Iterable[str], limit: int) -> list[str]:
    """Join lines into as few texts as their limit allows; one begins anew where the next line does not fit."""
    texts: list[str] = []
    for line in lines:
        if texts and len(texts[-1]) + len(line) < limit:
            texts[-1] += f"\n{line}"
        elif line:
            texts.append(line)
    return [text.strip("\n") for text in texts if text.strip()]


def _fallback(report: Report, page: Page) -> str:
    """Write what a notification shows: the kind or the verdict, and what it is about."""
    said = page.summary if report.kind == "report" else (page.banner[-1] if page.banner else ())
    whole: Line = (Plain(" Investigation "), Code(report.investigation_id), Plain("."))
    text = slack_line((*page.title, Plain(": "), *said, *whole), frozenset())
    return text[:MAX_FALLBACK_CHARS]
