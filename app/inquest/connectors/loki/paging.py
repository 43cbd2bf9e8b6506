"""Pages of log lines: by time, and by the lines that were already given at the border.

A page ends in the middle of a nanosecond as often as not, so the next one asks for that nanosecond again and
leaves out what was given: known by hash, and counted, for equal lines may be two.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inquest.connectors.loki.config import MAX_LINES
from inquest.connectors.loki.shapes import KEY_CHARS, Entry

MAX_TIES = 100
"""Lines at the border that a cursor names. Where there are more, the rest of that nanosecond is left out."""

_WRITTEN = re.compile(rf"(\d{{1,19}})((?:,[0-9a-f]{{{KEY_CHARS}}})*)")


@dataclass(frozen=True, slots=True)
class Border:
    """Where the next page begins: at `at_ns`, less the lines `given` (keys) at that nanosecond."""

    at_ns: int
    given: tuple[str, ...] = ()

    def write(self) -> str:
        """Write the provider cursor."""
        return ",".join((str(self.at_ns), *self.given))

    @classmethod
    def read(cls, cursor: str) -> Border | None:
        """Read what `write` wrote; None for anything else."""
        found = _WRITTEN.fullmatch(cursor)
        return None if found is None else cls(int(found[1]), tuple(found[2].split(",")[1:]))


@dataclass(frozen=True, slots=True)
class Turn:
    """One request for lines in [start_ns, end_ns), `limit` of them, and what is left out of its answer."""

    start_ns: int
    end_ns: int
    limit: int
    forward: bool
    border: Border | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A page: its lines, where the next begins, and whether lines between the two were left out."""

    entries: tuple[Entry, ...]
    following: Border | None = None
    left_out: bool = False


def turn(start_ns: int, end_ns: int, *, lines: int, forward: bool, border: Border | None) -> Turn:
    """Plan the request for the page of at most `lines` lines that begins at `border`."""
    limit = min(lines, MAX_LINES)
    if border is None:
        return Turn(start_ns, end_ns, limit, forward)
    limit = min(limit + len(border.given), MAX_LINES)
    if forward:
        return Turn(max(start_ns, border.at_ns), end_ns, limit, forward, border)
    return Turn(start_ns, min(end_ns, border.at_ns + 1), limit, forward, border)


def cut(asked: Turn, answered: Sequence[Entry]) -> Cut:
    """Make the page of what was `answered`, in time order; lines outside the request are none of it."""
    found = [one for one in answered if asked.start_ns <= one.at_ns < asked.end_ns]
    kept = tuple(_less(found, asked.border))
    if len(found) < asked.limit:
        return Cut(kept)
    last_ns = found[-1].at_ns if asked.forward else found[0].at_ns
    given = Counter(one.key for one in found if one.at_ns == last_ns)
    if asked.border is not None and asked.border.at_ns == last_ns:
        given |= Counter(asked.border.given)
    following = Border(last_ns, tuple(sorted(given.elements())))
    left_out = len(following.given) > MAX_TIES
    if left_out:
        following = replace(following, at_ns=last_ns + (1 if asked.forward else -1), given=())
    is_inside = asked.start_ns <= following.at_ns < asked.end_ns
    return Cut(kept, following if is_inside else None, left_out)


def _less(found: Sequence[Entry], border: Border | None) -> Sequence[Entry]:
    """Leave out what was given before the border."""
    if border is None:
        return found
    given = Counter(border.given)
    kept = []
    for one in found:
        if one.at_ns == border.at_ns and given[one.key] > 0:
            given[one.key] -= 1
        else:
            kept.append(one)
    return kept
