"""Escaping, one function per sink: what is foreign stays text, whatever it says.

Markdown: plain words stand as they are, everything else (mentions, references, links, HTML, quick actions,
emphasis) stands in code spans, which no renderer or host interprets. Nothing is ever dropped for being odd.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from inquest.wire.sanitise import clean

MIN_FENCE = 3
_WORD = re.compile(
    r"""^[("'\u2018\u201c]*"""
    r"""(?:(?:[A-Za-z0-9]|[^\x00-\x7f])+(?:['-](?:[A-Za-z0-9]|[^\x00-\x7f])+)*|[-+]?\d[\d,]*(?:\.\d+)?%?|\d+(?::\d\d)+)"""
    r"""[)"'.,;:!?]*\Z"""
)
"""A word, a number or a time of day, with the punctuation of prose around it."""
_OPENING, _CLOSING = "(", ").,;:"
_ABBREVIATIONS = frozenset({"e.g.", "i.e.", "vs.", "(e.g.", "(i.e."})
_COMMIT = re.compile(r"^(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{7,}\Z")
"""GitLab and GitHub make a cross-reference of these."""
_URL = re.compile(r"^https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%{}|^]*)?\Z")
MAX_URL_CHARS = 2_000
_PERCENT = {char: f"%{ord(char):02X}" for char in "()[]{}|^'*_~!$"}
"""Characters that mean something to a Markdown parser inside a link's address."""


def plain(text: str) -> str:
    """Make foreign text safe for any sink that escapes markup itself: no controls, no hidden characters."""
    return clean(text).text


def terminal(text: str) -> str:
    """Make foreign text safe for a terminal: no escape sequence is left, and it is one line."""
    return " ".join(plain(text).split())


def markdown_prose(text: str, *, in_table: bool = False) -> str:
    """Write foreign prose on one line of Markdown: words as they are, all else in code spans."""
    return prose(text, partial(markdown_code, in_table=in_table))


def prose(text: str, code: Callable[[str], str], is_plain: Callable[[str], bool] | None = None) -> str:
    """Write foreign prose on one line: words as they are, all else as the sink's `code` writes it.

    `is_plain` says what a word is where a sink gives more meanings than Markdown does.
    """
    plain_word = is_plain or is_plain_word
    pieces: list[str] = []
    odd: list[str] = []

    def flush() -> None:
        if odd:
            pieces.append(_odd_words(" ".join(odd), code))
            odd.clear()

    for token in plain(text).split():
        if plain_word(token):
            flush()
            pieces.append(token)
        else:
            odd.append(token)
            if token.endswith(tuple(_CLOSING)):
                flush()
    flush()
    return " ".join(pieces)


def _odd_words(text: str, code: Callable[[str], str]) -> str:
    """Put odd words into a code span, the punctuation of prose around them outside of it."""
    core = text.lstrip(_OPENING)
    lead = text[: len(text) - len(core)]
    core = core.rstrip(_CLOSING)
    trail = text[len(lead) + len(core) :]
    if not core.strip() or any(sign in core for sign in "()\"'"):
        return code(text)
    return f"{lead}{code(core)}{trail}"


def is_plain_word(token: str) -> bool:
    """Say whether a token is prose that no Markdown renderer or host gives a meaning."""
    if token in _ABBREVIATIONS:
        return True
    return _WORD.match(token) is not None and _COMMIT.match(token.strip("()\"'.,;:!?")) is None


def markdown_code(text: str, *, in_table: bool = False) -> str:
    """Write foreign text as a code span that it cannot leave; line ends become a visible sign."""
    shown = " ⏎ ".join(plain(text).split("\n")).replace("\t", " ")
    if in_table:
        shown = shown.replace("|", "\\|")  # GFM splits cells before it reads code spans
    if not shown.strip():
        return "(empty)"
    fence = "`" * (longest_run(shown, "`") + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def markdown_fence(text: str, *, indent: str) -> str:
    """Write foreign text as a fenced block inside a list item: no line of it begins at the margin."""
    shown = plain(text)
    fence = "`" * max(longest_run(shown, "`") + 1, MIN_FENCE)
    return "\n".join([f"{indent}{fence}text", *(f"{indent}{line}" for line in shown.split("\n")), f"{indent}{fence}"])


def longest_run(text: str, sign: str) -> int:
    """Give the length of the longest run of `sign` in `text`."""
    return max((len(run) for run in re.findall(f"{re.escape(sign)}+", text)), default=0)


def allowed_url(url: str, hosts: frozenset[str]) -> str | None:
    """Give `url` as it may be linked, None when its host is not one of `hosts` or its form is odd.

    Only http and https, plain ASCII, no credentials: what a browser could read in another way than we do
    (backslashes, white space, `//host`, userinfo) is no link.
    """
    if len(url) > MAX_URL_CHARS or not _URL.match(url):
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if not ({host, f"{host}:{port}"} & hosts):
        return None
    return url


def markdown_url(url: str) -> str:
    """Write an allowed address inside a Markdown link: nothing in it ends the link or starts emphasis."""
    return "".join(_PERCENT.get(char, char) for char in url)
