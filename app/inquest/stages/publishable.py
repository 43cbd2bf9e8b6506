"""What of a model's text may reach a reader: prose. Raw JSON, tool calls and placeholders never do (BL-040)."""

from __future__ import annotations

import re

_CONTROL_PICTURES = 0x2400
_DELETE, _DELETE_PICTURE = 0x7F, 0x2421
_SPACES = {"\n", "\t"}
_PLACEHOLDERS = re.compile(
    r"^(?:"
    r"\[?system: empty message content sanitised to satisfy protocol\]?"
    r"|\[tool returned .{0,80}\]"
    r"|please continue\.?"
    r"|this is a mock request\.?"
    r"|dummy[_ ]tool(?: call)?"
    r"|\(?(?:no|empty) (?:content|response|answer|output)\)?\.?"
    r"|(?:none|null|n/a|undefined|nan|tbd|todo|\.|-+)"
    r"|<(?:\|)?[a-z_ |]{0,40}>"
    r")$",
    re.IGNORECASE,
)
"""Texts that providers' libraries put where there was none, and what models write when they have nothing."""
_FENCE = re.compile(r"^\s*```[a-zA-Z0-9_-]{0,20}\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)
_MACHINE = re.compile(
    r'^\s*(?:[\[{]\s*(?:["\[{\]}\d-]|$)|"[^"]{0,80}"\s*:|<(?:tool_call|function|invoke|\|)|(?:functions?|tool)[.:]\w+\s*[({])'
)


def clean(text: str) -> str:
    """Make a text storable: control characters and lone surrogates become visible signs, line ends one line feed."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(_shown(char) for char in plain)


def publishable(text: str) -> bool:
    """Say whether `text` is prose that a reader may see; "" is not."""
    inner = unfenced(text).strip()
    if not inner or _PLACEHOLDERS.match(inner):
        return False
    return _MACHINE.match(inner) is None


def unfenced(text: str) -> str:
    """Give what stands inside a code fence that is the whole text, else the text."""
    found = _FENCE.match(text)
    return found[1] if found else text


def _shown(char: str) -> str:
    code = ord(char)
    if code < ord(" ") and char not in _SPACES:
        return chr(_CONTROL_PICTURES + code)
    if code == _DELETE:
        return chr(_DELETE_PICTURE)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else char  # noqa: PLR2004  # surrogates, RFC 3629
