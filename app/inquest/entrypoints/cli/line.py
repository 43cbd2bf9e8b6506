"""One line of progress, safe for a terminal. Quick to import: the first line of a command is one of these."""

from __future__ import annotations

import shlex
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

MAX_LINE_CHARS = 240


class Line(NamedTuple):
    """A line: when (UTC), what kind of thing (one word), and its words."""

    at: datetime
    what: str
    text: str

    def shown(self) -> str:
        """Give the line for a terminal: control characters of foreign text are made visible."""
        words = self.text if self.text.isascii() and self.text.isprintable() else _made_safe(self.text)
        cut = words if len(words) <= MAX_LINE_CHARS else f"{words[:MAX_LINE_CHARS]}…"
        return f"{self.at:%H:%M:%S}Z  {self.what:<10} {cut}"


def safe(text: str) -> str:
    """Give text of several lines for a terminal, likewise: what we say of an error may quote what is foreign."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    from inquest.destinations.shared.escape import plain  # slow to import, as below

    return plain(text)


def _made_safe(text: str) -> str:
    from inquest.destinations.shared.escape import terminal  # slow to import, and our own lines do not need it

    return terminal(text)


def say_now(what: str, text: str, *, aside: bool = False) -> None:
    """Print a line of our own, now; `aside`, on stderr, where stdout is JSON."""
    print(Line(datetime.now(UTC), what, text).shown(), file=sys.stderr if aside else sys.stdout, flush=True)


def typed_as() -> str:
    """Give what this program is called by where it was typed: its name, or its path where the shell finds no such name.

    For a command that we print to be typed next: in a checkout it is `.venv/bin/inquest`.
    """
    typed = Path(sys.argv[0])
    if typed.name != PROGRAM:
        return PROGRAM
    found = shutil.which(PROGRAM)
    return PROGRAM if found is not None and Path(found).samefile(typed) else shlex.quote(str(typed))


PROGRAM = "inquest"
