"""Parse errors in the words of Prometheus 2.x.

The parser package words them a little differently and gives no position. The position here is right for
the kinds below and otherwise 1:1; nobody should read more into it than "line 1".
"""

from __future__ import annotations

import re

_QUOTED = re.compile(r"'([^']*)'")
_TYPES = {"matrix": "range vector", "vector": "instant vector", "scalar": "scalar", "string": "string"}
_TYPE_CLASH = re.compile(r"expected type (\w+) in call to function '(\w+)', got (\w+)")
_NAMED = re.compile(r"(?:function with name|in call to) '(\w+)'")
_AT_END = ("unclosed left parenthesis", "unexpected end of input")


def as_prometheus_says(reason: str, text: str) -> str:
    """Give `LINE:COLUMN: parse error: REASON` for the parser package's `reason` about `text`."""
    if reason == "invalid promql query":
        return _position(len(text) + 1, "unexpected end of input") if _ends_open(text) else _position(1, reason)
    clash = _TYPE_CLASH.fullmatch(reason)
    if clash is not None:
        wanted, function, found = clash.groups()
        words = f"expected type {_type(wanted)} in call to function '{function}', got {_type(found)}"
        return _position(_argument_of(function, text), _quotes(words))
    if reason.startswith(_AT_END):
        return _position(len(text) + 1, reason)
    named = _NAMED.search(reason)
    if named is not None:
        return _position(max(text.find(named.group(1)), 0) + 1, _quotes(reason))
    if reason.startswith("illegal regex"):
        return _position(1, reason.replace("illegal regex for", "error parsing regexp:"))
    return _position(1, _quotes(reason))


def _position(column: int, reason: str) -> str:
    return f"1:{column}: parse error: {reason}"


def _quotes(reason: str) -> str:
    return _QUOTED.sub(r'"\1"', reason)


def _type(word: str) -> str:
    return _TYPES.get(word, word)


def _ends_open(text: str) -> bool:
    return text.rstrip().endswith(("+", "-", "*", "/", "%", "^", "<", ">", "=", "and", "or", "unless"))


def _argument_of(function: str, text: str) -> int:
    """Give the column of the first argument of the first call of `function`."""
    call = re.search(rf"\b{re.escape(function)}\s*\(\s*", text)
    return call.end() + 1 if call is not None else 1
