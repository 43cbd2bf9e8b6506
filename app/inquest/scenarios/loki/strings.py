"""String literals of LogQL: Go's, in double quotes with escapes or in backticks without."""

from __future__ import annotations

import re

from inquest.errors import InquestError

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\\"])|([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.)|$)", re.DOTALL
)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


class BadString(InquestError):
    """A literal that Go would refuse."""


def unquoted(literal: str) -> str:
    r"""Give the text of a literal, its quotes included. Raises BadString.

    `\x` and octal escapes above 7F are bytes in Go; here they are refused, since no label or line needs them.
    """
    inside = literal[1:-1]
    return inside if literal[0] == "`" else _ESCAPE.sub(_escaped, inside)


def _escaped(escape: re.Match[str]) -> str:
    short, octal, byte, four, eight, _ = escape.groups()
    if short is not None:
        return _SHORT[short]
    for digits, base, highest in ((octal, 8, 0x7F), (byte, 16, 0x7F), (four or eight, 16, _LAST_CODE_POINT)):
        if digits is not None:
            code = int(digits, base)
            if code > highest or code in _SURROGATES:
                break
            return chr(code)
    raise BadString(f"invalid escape {escape.group(0)}")
