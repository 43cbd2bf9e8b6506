r"""A first pass over the text of an expression, before the parser sees it.

The parser takes exponential time in deep brackets and quadratic time in long chains, reads escapes inside
back quotes (where PromQL has none), and takes `\xff` for a character where Prometheus takes it for a byte.
So brackets, length and chains are bounded here, and raw strings are written as ordinary ones.
"""

from __future__ import annotations

import re

from inquest.domain.selector import quote
from inquest.ports import InvalidQuery

MAX_EXPRESSION_CHARS = 4_096
MAX_DEPTH = 32
MAX_SIGNS = 256
"""Arithmetic and comparison signs outside strings."""

_PIECE = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')|(?P<raw>`[^`]*+`)|(?P<comment>\#[^\n]*+)"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<stray>["'`])|(?P<sign>[-+*/%^<>=!])|(?P<plain>[^"'`\#()\[\]{}*/%^<>=!+-]++)"""
)
_BYTE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+\\(?:x[89a-fA-F]|[2-3][0-7]{2})")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def plain_text(expression: str) -> str:
    """Give `expression` without comments and raw strings. Raises InvalidQuery naming what and where."""
    if not expression.strip():
        raise InvalidQuery("expression: is empty")
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise InvalidQuery(f"expression: longer than {MAX_EXPRESSION_CHARS} characters")
    brackets = _Brackets()
    parts = [_piece(piece, brackets) for piece in _PIECE.finditer(expression)]
    brackets.end()
    if brackets.signs > MAX_SIGNS:
        raise InvalidQuery(f"expression: more than {MAX_SIGNS} operators")
    return "".join(parts)


class _Brackets:
    """What is open while a text is read."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, int]] = []
        self.signs = 0

    def open(self, found: str, position: int) -> None:
        self.opened.append((found, position))
        if len(self.opened) > MAX_DEPTH:
            raise InvalidQuery(f"expression: brackets nest deeper than {MAX_DEPTH} at {position}")

    def close(self, found: str, position: int) -> None:
        if not self.opened:
            raise InvalidQuery(f"expression: unexpected '{found}' at {position}")
        wanted = _PAIRS[self.opened.pop()[0]]
        if found != wanted:
            raise InvalidQuery(f"expression: expected '{wanted}' at {position}, found '{found}'")

    def end(self) -> None:
        if self.opened:
            found, position = self.opened[-1]
            raise InvalidQuery(f"expression: the '{found}' at {position} is not closed")


def _piece(piece: re.Match[str], brackets: _Brackets) -> str:
    text, position = piece[0], piece.start() + 1
    match piece.lastgroup:
        case "text" if _BYTE_ESCAPE.search(text):
            raise InvalidQuery(f"expression: a byte escape above 7f at {position}; write the character itself")
        case "raw":
            return quote(text[1:-1])
        case "comment":
            return " "
        case "open":
            brackets.open(text, position)
        case "close":
            brackets.close(text, position)
        case "stray":
            raise InvalidQuery(f"expression: the string at {position} is not closed")
        case "sign":
            brackets.signs += 1
        case _:
            pass
    return text
