"""Hard failure markers: what no healthy service says. Their absence alone proves nothing.

Used to refuse "healthy": one marker that is new in the incident window, or more frequent there than in the
baseline, and the verdict does not hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.decisive import decisive_in
from inquest.domain.signals import Logs
from inquest.domain.value import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquest.domain.observation import Signal
    from inquest.domain.signals import SignalContent
    from inquest.domain.window import Window

MARKERS: dict[str, re.Pattern[str]] = {
    "out of memory": re.compile(r"out of memory|oom[- ]?kill", re.IGNORECASE),
    "panic": re.compile(r"\bpanic(?:ked)?\b", re.IGNORECASE),
    "fatal": re.compile(r"\bfatal\b", re.IGNORECASE),
    "segmentation fault": re.compile(r"segmentation fault|sigsegv", re.IGNORECASE),
    "disk full": re.compile(r"no space left on device|disk (?:is )?full", re.IGNORECASE),
    "connections exhausted": re.compile(r"too many (?:clients|connections)|pool (?:is )?exhausted", re.IGNORECASE),
    "connection refused": re.compile(r"connection refused", re.IGNORECASE),
    "deadlock": re.compile(r"\bdeadlock", re.IGNORECASE),
    "certificate expired": re.compile(r"certificate (?:has )?expired", re.IGNORECASE),
    "server error": re.compile(r'(?:\bstatus[=: "]+|HTTP/[\d.]+" )5\d\d\b|\bHTTP 5\d\d\b', re.IGNORECASE),
}
"""Linear patterns: no nested repetition, so that a line of a megabyte costs a scan each."""


class Marked(NamedTuple):
    """How often a marker was seen in the incident window, and in the baseline before it."""

    marker: str
    incident: int
    baseline: int


def new_failures(
    looked_at: Iterable[tuple[Signal, SignalContent]], incident: Window, baseline: Window
) -> tuple[Marked, ...]:
    """List the markers that are new, or above baseline, in the incident window.

    Both windows are of the same length, so counts compare as they are. A baseline that was not asked counts
    as one without markers: what cannot be compared is taken for new.
    """
    during, before = dict.fromkeys(MARKERS, 0), dict.fromkeys(MARKERS, 0)
    found: list[Marked] = []
    for signal, content in looked_at:
        if isinstance(content, Logs):
            for line in content.lines:
                counts = during if _within(line.time, incident) else before if _within(line.time, baseline) else None
                if counts is not None:
                    _count(line.line, counts)
        elif (cause := decisive_in(signal, content)) is not None:
            found.append(Marked(cause, 1, 0))
    found += [Marked(name, during[name], before[name]) for name in MARKERS if during[name] > before[name]]
    return tuple(found)


def _within(at_ms: int, window: Window) -> bool:
    return epoch_ms(window.start) <= at_ms < epoch_ms(window.end)


def _count(line: str, counts: dict[str, int]) -> None:
    for name, pattern in MARKERS.items():
        counts[name] += pattern.search(line) is not None
