"""The HTML form: one file, no script, no request to anywhere, light and dark.

Everything foreign passes autoescaping; the only markup that is not the template's own is a sparkline, which
is made of numbers. The content security policy allows this style sheet and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from inquest.destinations.shared.escape import allowed_url, plain
from inquest.destinations.shared.page import Code, Foreign, Plain, Strong
from inquest.destinations.shared.sparkline import as_svg

if TYPE_CHECKING:
    from inquest.destinations.shared.page import Line, Page

_HERE = Path(__file__).parent


def html(page: Page, hosts: frozenset[str], *, verdict: str = "") -> bytes:
    """Write a page as HTML in UTF-8. Links go to `hosts` only. `verdict` colours the summary."""
    style = _style()
    rendered = (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            title=_text(page.title),
            verdict=verdict,
            style=style,
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            hosts=hosts,
        )
    )
    return rendered.encode()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    made.filters["plain"] = plain
    made.filters["svg"] = as_svg
    made.filters["allowed"] = allowed_url
    return made


@lru_cache(maxsize=1)
def _style() -> str:
    return (_HERE / "report.css").read_text("utf-8")


def _text(line: Line) -> str:
    """Give the words of a line, for the window's title."""
    return "".join(plain(piece.text) for piece in line if isinstance(piece, Plain | Strong | Foreign | Code))
