"""The committed pages, as tests read them: links, fenced code, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(sorted([ROOT / "README.md", ROOT / "AGENTS.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]))
_FENCE = re.compile(r"^ *(```+|~~~+) *(?P<language>[\w-]*) *(?P<title>.*)$")
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^(?P<depth>#+) +(?P<title>.+?) *$")
_CELL = re.compile(r"(?<!\\)\|")


class Block(NamedTuple):
    """A fenced or indented piece of code. `title` is what follows the language on the fence's line."""

    page: Path
    line: int
    language: str
    title: str
    text: str


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def lines_outside_code(page: Path) -> Iterator[tuple[int, str]]:
    """Give the lines that are prose, each with its number."""
    inside = ""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence and (not inside or line.strip() == inside):
            inside = "" if inside else fence[1]
        elif not inside and not line.startswith("    "):
            yield number, line


def blocks(page: Path) -> Iterator[Block]:
    """Give the code of a page: fenced, or indented by four."""
    fence, begun, kept = None, 0, list[str]()
    for number, line in enumerate([*page.read_text("utf-8").splitlines(), ""], start=1):
        found = _FENCE.match(line)
        if fence is not None:
            if found and line.strip() == fence[1]:
                yield Block(page, begun, fence["language"], fence["title"], "\n".join(kept))
                fence, kept = None, []
            else:
                kept.append(line)
        elif found:
            fence, begun = found, number
        elif line.startswith("    "):
            begun = begun if kept else number
            kept.append(line[4:])
        elif kept:
            yield Block(page, begun, "", "", "\n".join(kept))
            kept = []


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Give the targets of links in prose, each with its line. What stands in backticks is no link."""
    for number, line in lines_outside_code(page):
        for found in _LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            yield number, found["target"]


def anchors(page: Path) -> frozenset[str]:
    """Give the fragments that a page's headings make, as GitHub writes them."""
    titles = [_HEADING.match(line) for _, line in lines_outside_code(page)]
    return frozenset(_anchor(title["title"]) for title in titles if title)


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def table(page: str, heading: str, *, empty: bool = False) -> list[list[str]]:
    """Give the rows of all tables below `heading` and before the next one of its depth, without their heads.

    There is at least one row, unless it may be `empty`.
    """
    rows: list[list[str]] = []
    depth, head = 0, True
    for _, line in lines_outside_code(ROOT / page):
        found = _HEADING.match(line)
        if found and depth and len(found["depth"]) <= depth:
            break
        if found and found["title"] == heading:
            depth = len(found["depth"])
        elif depth and line.startswith("|"):
            if not head:
                rows.append([cell.strip().replace("\\|", "|") for cell in _CELL.split(line.strip())[1:-1]])
            head = False if set(line) <= set("|-: ") else head
        elif depth:
            head = True
    assert depth, f"{page} has no heading {heading!r}"
    assert rows or empty, f"{page}: there is no table below {heading!r}"
    return rows


def code(cell: str) -> list[str]:
    """Give what stands in backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)
