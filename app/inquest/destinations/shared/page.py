"""A report as a page: sections of blocks of inline pieces, before it takes the form of any sink.

Every form is written from this, so that all of them say the same. A piece says where its text comes from:
`Plain` and `Strong` are ours; `Foreign` and `Code` are not, and each form escapes them for its sink.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from inquest.destinations.shared.sparkline import Shape
from inquest.domain.claim import Citation

MAX_INLINE_CHARS = 600
"""Of one foreign piece inside a line. A longer one is cut, and says where the whole of it is."""
MAX_BLOCK_CHARS = 20_000
"""Of one foreign block."""
REPORT_JSON = "report.json"


@dataclass(frozen=True, slots=True)
class Plain:
    """Our own words."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Our own words, stressed."""

    text: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """Prose from elsewhere: of an alert, a model, a source. `more` is ours: what of it is not shown here."""

    text: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Text from elsewhere that is shown as it is: a query, a name, a log line. `more` as in Foreign."""

    text: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A page elsewhere. It is a link only where its host is allowed, else inert text.

    `brief`: where it is no link, naming the host is enough; the whole address is in report.json.
    """

    label: str
    url: str
    brief: bool = False

    @property
    def inert(self) -> str:
        """Give the text that stands where there is no link."""
        return self.url.split("/")[2] if self.brief and self.url.count("/") > 1 else self.url


@dataclass(frozen=True, slots=True)
class Ref:
    """A piece of evidence by its display name (E3)."""

    evidence: str


@dataclass(frozen=True, slots=True)
class Spark:
    """The course of a series, small."""

    shape: Shape


Inline = Plain | Strong | Foreign | Code | Link | Ref | Spark
Line = tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line of text."""

    line: Line


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; never empty."""

    items: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under our own headings. `anchors` name rows (E1 ..), "" where a row has none."""

    head: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """A text to copy exactly, with a line that says what it is. `more` as in Foreign."""

    label: Line
    text: str
    more: str = ""


Block = Paragraph | Bullets | Table | Copy


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with its heading."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole page. `banner` comes first of all: it says that and why the report is degraded, or partial."""

    banner: tuple[Line, ...]
    title: Line
    summary: Line
    sections: tuple[Section, ...]
    footer: tuple[Line, ...]


def foreign(text: str, whole_in: str = REPORT_JSON) -> Foreign:
    """Give a foreign piece that is short enough for a line."""
    return Foreign(text[:MAX_INLINE_CHARS], _more(text, MAX_INLINE_CHARS, whole_in))


def code(text: str, whole_in: str = REPORT_JSON) -> Code:
    """Give a code piece that is short enough for a line."""
    return Code(text[:MAX_INLINE_CHARS], _more(text, MAX_INLINE_CHARS, whole_in))


def copy(label: Line, text: str, whole_in: str = REPORT_JSON) -> Copy:
    """Give a block to copy that is short enough for a page."""
    return Copy(label, text[:MAX_BLOCK_CHARS], _more(text, MAX_BLOCK_CHARS, whole_in))


def _more(text: str, limit: int, whole_in: str) -> str:
    """Say how much is not shown, and where the whole of it is; "" when all is shown."""
    return "" if len(text) <= limit else f" (cut here: {len(text):,} characters in all, whole in {whole_in})"


def joined(lines: list[Line], between: str) -> Line:
    """Join lines into one, with our `between` between them."""
    found: list[Inline] = []
    for line in lines:
        if found:
            found.append(Plain(between))
        found.extend(line)
    return tuple(found)


def refs(names: Iterable[str]) -> Line:
    """Name evidence, each once, in order, a space before each."""
    return tuple(piece for name in dict.fromkeys(names) for piece in (Plain(" "), Ref(name)))


def cited(citations: Iterable[Citation]) -> Line:
    """Name the evidence of citations, each once, in order."""
    return refs(citation.evidence for citation in citations)
