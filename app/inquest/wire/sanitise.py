"""The one sanitiser: foreign text on its way to Postgres, to a model or to a destination passes here.

Nothing that hides, reorders or drives a terminal is left: controls and direction marks become visible,
invisible characters go, and a note says how many. Newline and tab stay. What comes out has a UTF-8 form
without NUL, and comes out unchanged when it is put in again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_TEXT_CHARS = 16 * 1024 * 1024
"""The longest text that is given; a longer one is cut, with a tail and a note that say so."""
MIN_LIMIT = 128
"""A limit leaves room for the tail."""

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Unicode's Default_Ignorable_Code_Point less the direction marks, and the interlinear annotation marks.
_HIDDEN = (
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SURROGATES = r"\ud800-\udfff"
_UNSAFE = re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_HIDDEN}{_SURROGATES}]")
_KINDS = (
    (re.compile(f"[{_CONTROLS}]"), "control characters made visible"),
    (re.compile(f"[{_DIRECTIONS}]"), "direction marks made visible"),
    (re.compile(f"[{_HIDDEN}]"), "invisible characters removed"),
    (re.compile(f"[{_SURROGATES}]"), "lone surrogates replaced"),
)
# Colours of a terminal carry no meaning. Every other escape sequence keeps its letters, its ESC made visible.
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def _codes(ranges: str) -> Iterable[int]:
    """Give the code points that a class of a pattern names."""
    text = ranges.encode("ascii").decode("unicode_escape")
    for first, last in re.findall("(.)(?:-(.))?", text, re.DOTALL):
        yield from range(ord(first), ord(last or first) + 1)


def _picture(code: int) -> str:
    """Show a control: C0 and DEL have pictures in Unicode, the others are spelled out."""
    if code <= 0x1F:  # noqa: PLR2004  # the last of C0
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else f"⟨U+{code:04X}⟩"  # noqa: PLR2004  # DEL


_SHOWN: dict[int, str | None] = {
    **{code: _picture(code) for code in (*_codes(_CONTROLS), *_codes(_DIRECTIONS))},
    **dict.fromkeys(_codes(_HIDDEN)),
    **dict.fromkeys(_codes(_SURROGATES), "\N{REPLACEMENT CHARACTER}"),
}


@dataclass(frozen=True, slots=True)
class Clean:
    """Safe text, and what was done to it: one note for each kind of change, ours."""

    text: str
    notes: tuple[str, ...] = ()


def clean(text: str, *, limit: int = MAX_TEXT_CHARS) -> Clean:
    """Make `text` safe and at most `limit` characters long. Linear in its length; never raises for foreign text."""
    if limit < MIN_LIMIT:
        msg = f"a limit is at least {MIN_LIMIT} characters"
        raise ValueError(msg)
    if len(text) <= limit and not _UNSAFE.search(text):
        return Clean(text)
    safe, notes = _show(text[:limit])
    if len(safe) > limit or len(text) > limit:
        safe = _cut(safe, text, limit)
        notes.append(f"cut to {limit} of {len(text)} characters")
    return Clean(safe, tuple(notes))


def _show(text: str) -> tuple[str, list[str]]:
    """Replace what is unsafe, kind by kind, each in one pass of C code: hostile text costs no more than other."""
    notes = []
    text, colours = _COLOUR.subn("", text)
    if colours:
        notes.append(f"{colours} terminal colours removed")
    if crlf := text.count("\r\n"):
        text = text.replace("\r\n", "\n")
        notes.append(f"{crlf} CRLF line ends made LF")
    for kind, said in _KINDS:
        if kind.search(text) and (count := kind.subn("", text)[1]):
            notes.append(f"{count} {said}")
    return text.translate(_SHOWN), notes


def _cut(safe: str, original: str, limit: int) -> str:
    """Cut `safe`, ending in what is missing and a digest of all: two texts that differ still differ."""
    digest = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    tail = f"… [cut: {len(original)} characters, sha256 {digest}]"
    return safe[: limit - len(tail)] + tail
