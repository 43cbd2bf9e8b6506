"""Label selectors as text, for PromQL and LogQL alike: the one place where a label value is quoted."""

from __future__ import annotations

import re

from inquest.domain.value import Labels

_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote(value: str) -> str:
    """Write `value` as a double-quoted string that both languages read back as `value`.

    Other control characters become hexadecimal escapes, so that no value ends the string early.
    """
    return '"' + "".join(_escape(char) for char in value) + '"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char < " " or char == "\x7f":
        return f"\\x{ord(char):02x}"
    return char


def selector(labels: Labels) -> str:
    """Write the selector of `labels`, names in order, as in `{app="a", env="b"}`.

    A name that is no legacy label name is left out: neither language of this release can select by it.
    """
    matchers = [f"{name}={quote(value)}" for name, value in sorted(labels.items()) if _NAME.match(name)]
    return "{" + ", ".join(matchers) + "}"
