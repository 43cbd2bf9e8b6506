"""Log templates that are new in the incident, found with drain3 after masking what varies.

Drain (He et al., ICWS 2017) clusters lines by a tree of their tokens; masking first keeps ids and numbers
from making every line its own template.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from drain3.drain import Drain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.domain.signals import LogLine

MAX_LINES = 5_000
MAX_LINE_CHARS = 2_000
MAX_TEMPLATES = 20
SIMILARITY = 0.5
DEPTH = 4
MAX_CLUSTERS = 1_000
MIN_NOVEL_LINES = 3
"""With fewer lines a template is a stray one, which any two hours have (engineering judgement)."""
MESSAGE_FIELDS = ("message", "msg", "error", "err", "event")
RATE_FACTOR = 5.0
"""A known template is also reported when it is this many times more frequent than before."""
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{7,}\b"), "<id>"),
    (re.compile(r"\d+(?:\.\d+)?"), "<number>"),
)


class Novel(NamedTuple):
    """A template with its counts in both windows, and the first line of the incident that has it.

    `line_index` is that line's place among the incident's lines, for a pointer.
    """

    template: str
    incident: int
    baseline: int
    first_ms: int
    line_index: int


@dataclass
class _Count:
    incident: int = 0
    baseline: int = 0
    index: int = -1
    template: str = field(default="")


def novel_templates(incident: Sequence[LogLine], baseline: Sequence[LogLine]) -> tuple[Novel, ...]:
    """List the templates that are new in `incident` or RATE_FACTOR times more frequent, most frequent first.

    One with fewer than MIN_NOVEL_LINES lines is none. Only the first MAX_LINES of each are read. Lines are in time order.
    """
    drain = Drain(depth=DEPTH, sim_th=SIMILARITY, max_clusters=MAX_CLUSTERS)
    counts: dict[int, _Count] = {}
    for line in baseline[:MAX_LINES]:
        _count(drain, counts, line).baseline += 1
    for index, line in enumerate(incident[:MAX_LINES]):
        count = _count(drain, counts, line)
        count.incident += 1
        count.index = index if count.index < 0 else count.index
    novel = [
        Novel(one.template, one.incident, one.baseline, incident[one.index].time, one.index)
        for one in counts.values()
        if one.incident >= MIN_NOVEL_LINES and one.incident > RATE_FACTOR * one.baseline
    ]
    return tuple(sorted(novel, key=lambda one: (-one.incident, one.first_ms, one.template))[:MAX_TEMPLATES])


def _count(drain: Drain, counts: dict[int, _Count], line: LogLine) -> _Count:
    cluster, _ = drain.add_log_message(masked(message_of(line.line)))
    count = counts.setdefault(int(cluster.cluster_id), _Count())
    count.template = cluster.get_template()
    return count


def message_of(line: str) -> str:
    """Give the message of a JSON line, else the line; at most MAX_LINE_CHARS characters."""
    if line.startswith("{") and len(line) <= MAX_LINE_CHARS * 4:
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, dict):
            texts = [str(parsed[name]) for name in MESSAGE_FIELDS if isinstance(parsed.get(name), str)]
            line = ": ".join(texts) or line
    return line[:MAX_LINE_CHARS]


def masked(message: str) -> str:
    """Replace times, ids, addresses and numbers by their kind."""
    for pattern, kind in _MASKS:
        message = pattern.sub(kind, message)
    return message
