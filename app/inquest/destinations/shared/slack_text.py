"""Text for Slack (mrkdwn): what is foreign stays text, whatever it says.

Plain words stand as they are, everything else in code, in which Slack reads no emphasis and no emoji. `&`, `<`
and `>` are entities everywhere, so that no mention, link or date of Slack's own can arise; and every text is
sent as verbatim, so that no address and no channel's name becomes a link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from inquest.destinations.shared.escape import allowed_url, plain, prose
from inquest.destinations.shared.fitting import short_line
from inquest.destinations.shared.page import Code, Foreign, Inline, Line, Link, Plain, Ref, Spark, Strong
from inquest.destinations.shared.sparkline import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LINE_CHARS = 2_900
"""Of one line, escaped: it fits into a section of 3,000."""
SHORTER = (200, 60, 20)
"""Characters of each foreign piece in a line that would be too long."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_IN_URL = {"|": "%7C", "&": "&amp;"}
BACKTICK = "\N{MODIFIER LETTER GRAVE ACCENT}"
"""Slack has no way to write a backtick inside of code: this sign stands for it."""


def entities(text: str) -> str:
    """Write the characters that mean something to Slack as what they are."""
    return _replaced(text, _ENTITIES)


def slack_code(text: str) -> str:
    """Write foreign text as code on one line, which it cannot leave."""
    shown = " ⏎ ".join(plain(text).split("\n")).replace("\t", " ").replace("`", BACKTICK).strip()
    return f"`{entities(shown)}`" if shown else "(empty)"


def slack_prose(text: str) -> str:
    """Write foreign prose on one line: words as they are, all else as code."""
    return prose(text, slack_code)


def slack_line(line: Line, hosts: frozenset[str]) -> str:
    """Write a line of a page; links go to `hosts` only. At most MAX_LINE_CHARS: a longer one is cut, and says so."""
    for limit in (None, *SHORTER):
        written = "".join(_inline(piece, hosts) for piece in (line if limit is None else short_line(line, limit)))
        if len(written.strip()) <= MAX_LINE_CHARS:
            return written.strip()
    return "(a line that is too long for Slack, in the whole report)"


def bare_words(line: Line) -> str:
    """Give the words of a line without any markup, on one line and without controls; not escaped."""
    return " ".join(plain("".join(_words(piece) for piece in line)).split())


def _inline(piece: Inline, hosts: frozenset[str]) -> str:
    match piece:
        case Plain(text=text):
            shown = entities(text)
        case Strong(text=text):
            shown = f"*{entities(text)}*"
        case Foreign(text=text, more=more):
            shown = slack_prose(text) + entities(more)
        case Code(text=text, more=more):
            shown = slack_code(text) + entities(more)
        case Link():
            shown = _link(piece, hosts)
        case Ref(evidence=evidence):
            shown = f"[{entities(evidence)}]"
        case Spark(shape=shape):
            shown = as_text(shape)
        case unknown:
            assert_never(unknown)
    return shown


def _words(piece: Inline) -> str:
    match piece:
        case Plain(text=text) | Strong(text=text) | Foreign(text=text) | Code(text=text):
            return text
        case _:
            return ""


def _link(link: Link, hosts: frozenset[str]) -> str:
    allowed = allowed_url(link.url, hosts)
    if allowed is None:
        return f"{entities(link.label)} {slack_code(link.inert)}"
    return f"<{_replaced(allowed, _IN_URL)}|{entities(link.label).replace('|', '/')}>"


def _replaced(text: str, by: Mapping[str, str]) -> str:
    return "".join(by.get(char, char) for char in text)
