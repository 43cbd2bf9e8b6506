"""Requests and replies as the three recorded servers see them: no framework, no I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from inquest.scenarios import bounds

FORM = "application/x-www-form-urlencoded"
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """One request, its path relative to the server's prefix and still percent-encoded.

    `parameters` are the pairs of the form, then of the query string: Go servers look into both, the
    form first.
    """

    method: str
    raw_path: str
    parameters: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    base_url: str = ""  # of this server, for links in headers

    @property
    def segments(self) -> tuple[str, ...]:
        """The decoded segments of the path: `/projects/a%2Fb` is ("projects", "a/b")."""
        return tuple(unquote(part) for part in self.raw_path.split("/")[1:])

    def first(self, name: str) -> str:
        """Give the first value of parameter `name`, or ""."""
        return next((value for key, value in self.parameters if key == name), "")

    def all(self, name: str) -> list[str]:
        """Give every value of parameter `name`, in order."""
        return [value for key, value in self.parameters if key == name]


def parameters_of(query: str, form: str = "") -> tuple[tuple[str, str], ...] | None:
    """Read the form, then the query string; None when there are more parameters than we take."""
    try:
        return tuple(
            pair
            for text in (form, query)
            for pair in parse_qsl(text, keep_blank_values=True, max_num_fields=bounds.MAX_PARAMETERS)
        )
    except ValueError:  # the only one that parse_qsl raises outside strict mode: too many fields
        return None


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, content type, extra headers and the exact bytes."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def text(status: int, body: str, *headers: tuple[str, str]) -> Reply:
    """Give a text/plain reply."""
    return Reply(status, PLAIN, body.encode(), headers)


def go_json(value: object) -> str:
    """Write a JSON value as Go's encoder does: no spaces, and `<`, `>`, `&` and two line separators escaped."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        if character in written:
            written = written.replace(character, f"\\u{ord(character):04x}")
    return written
