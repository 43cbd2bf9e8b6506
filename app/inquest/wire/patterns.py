"""Regular expressions as Prometheus and Loki read them: RE2 syntax, in time linear in the text.

Python's own engine backtracks: `(a+)+$` against thirty letters holds the interpreter for minutes, and
a query comes from a model. The real servers use Go's regexp, which is RE2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import re2

from inquest.errors import InquestError


class BadPattern(InquestError):
    """A regular expression that RE2 refuses; the message is RE2's reason."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One compiled regular expression."""

    text: str
    _compiled: re2._Regexp

    def spans(self, text: str) -> bool:
        """Say whether the pattern matches the whole of `text`, as a label matcher asks."""
        return self._compiled.fullmatch(text) is not None

    def occurs_in(self, text: str) -> bool:
        """Say whether the pattern matches somewhere in `text`, as a line filter asks."""
        return self._compiled.search(text) is not None


@lru_cache(maxsize=256)
def pattern(text: str) -> Pattern:
    """Compile `text`. Raises BadPattern."""
    options = re2.Options()
    options.log_errors = False  # else RE2 writes the pattern to standard error
    try:
        return Pattern(text, re2.compile(text, options))
    except re2.error as refused:
        reason = refused.args[0] if refused.args else b""
        raise BadPattern(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from refused
    except (UnicodeEncodeError, OverflowError) as unreadable:
        raise BadPattern("not valid UTF-8") from unreadable
