r"""The words, signs and strings of LogQL, each with the position where it begins (1 is the first character)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from inquest.ports import InvalidQuery

MAX_EXPRESSION_CHARS = 4_096

_PIECE = re.compile(
    r"""(?P<space>\s++|\#[^\n]*+)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*+")|(?P<raw>`[^`]*+`)|(?P<stray>["'`])"""
    r"""|(?P<sign>\|=|\|~|\|>|!>|!=|!~|=~|==|>=|<=|[{}()\[\],|=<>])"""
    r"""|(?P<number>[0-9][0-9A-Za-z._µ]*+)|(?P<word>[A-Za-z_][A-Za-z0-9_]*+)|(?P<odd>.)""",
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"""\\(?:(?P<short>[abfnrtv\\"])|(?P<octal>[0-7]{3})|x(?P<byte>[0-9a-fA-F]{2})"""
    r"""|u(?P<four>[0-9a-fA-F]{4})|U(?P<eight>[0-9a-fA-F]{8})|(?P<other>.|$))""",
    re.DOTALL,
)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}
_LAST_ASCII = 0x7F
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. `kind` is string, sign, number, word or end; a string's text is what it means."""

    kind: str
    text: str
    at: int


def tokens(expression: str) -> list[Token]:
    """Read `expression` into tokens, the last of kind end. Raises InvalidQuery naming what and where."""
    if not expression.strip():
        raise InvalidQuery("expression: is empty")
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise InvalidQuery(f"expression: longer than {MAX_EXPRESSION_CHARS} characters")
    found = [token for piece in _PIECE.finditer(expression) if (token := _token(piece)) is not None]
    return [*found, Token("end", "", len(expression) + 1)]


def _token(piece: re.Match[str]) -> Token | None:
    text, at, kind = piece[0], piece.start() + 1, str(piece.lastgroup)
    match kind:
        case "space":
            return None
        case "string":
            return Token("string", _unquoted(text[1:-1], at), at)
        case "raw":
            return Token("string", text[1:-1].replace("\r", ""), at)  # as Go reads a raw string
        case "stray" if text == "'":
            raise InvalidQuery(f"expression: a single quote at {at}; write strings in double quotes")
        case "stray":
            raise InvalidQuery(f"expression: the string at {at} is not closed")
        case "odd":
            said = "a variable" if text == "$" else "a character that is not taken here"
            raise InvalidQuery(f"expression: {said} at {at}")
        case _:
            return Token(kind, text, at)


def _unquoted(inside: str, at: int) -> str:
    return _ESCAPE.sub(lambda escape: _escaped(escape, at), inside)


def _escaped(escape: re.Match[str], at: int) -> str:
    """Give the character of an escape. Go reads a byte above 7f as a byte, which is no character of a text."""
    kind, digits = str(escape.lastgroup), escape[str(escape.lastgroup)]
    where = at + 1 + escape.start()
    match kind:
        case "short":
            return _SHORT[digits]
        case "octal" | "byte":
            code = int(digits, 8 if kind == "octal" else 16)
            if code > _LAST_ASCII:
                raise InvalidQuery(f"expression: a byte escape above 7f at {where}; write the character itself")
            return chr(code)
        case "four" | "eight" if (code := int(digits, 16)) <= _LAST_CODE_POINT and code not in _SURROGATES:
            return chr(code)
        case _:
            raise InvalidQuery(
                f"expression: an unknown escape at {where}; write \\\\ for a backslash, or use back quotes"
            )
