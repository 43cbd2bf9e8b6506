"""One request to Prometheus and the reading of its answer, and how times and names are written for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from inquest.connectors.prometheus.answers import Told, read_envelope
from inquest.connectors.shared.asking import Pairs, get_or_post, written
from inquest.connectors.shared.reading import shaped
from inquest.domain.failure import Failure
from inquest.domain.signals import SignalContent
from inquest.domain.value import Json, epoch_ms
from inquest.wire.apart import apart
from inquest.wire.ask import Ask, Page
from inquest.wire.promql.printer import LEGACY_NAME
from inquest.wire.transport import Segments

_ODD = re.compile(r"[^a-zA-Z0-9_]")


async def told(ask: Ask, path: Segments, pairs: Pairs) -> Told | Failure:
    """Ask, and read the envelope."""
    answer = await get_or_post(ask, path, pairs)
    if isinstance(answer, Failure):
        return answer
    # In a thread: a large answer takes a while, and other reads go on meanwhile.
    return await apart(read_envelope, answer, now=ask.clock.now())


async def page(ask: Ask, path: Segments, pairs: Pairs, read: Callable[[Json], SignalContent]) -> Page | Failure:
    """Ask and shape; the page's expression is the path and parameters that were sent."""
    answer = await told(ask, path, pairs)
    if isinstance(answer, Failure):
        return answer
    content = await shaped(lambda: read(answer.data))
    if isinstance(content, Failure):
        return content
    return Page(content, written(path, pairs), error=answer.partial)


def seconds(moment: datetime) -> str:
    """Write a moment as seconds since 1970, to the millisecond."""
    ms = epoch_ms(moment)
    return f"{ms // 1000}.{ms % 1000:03d}"


def times(ask: Ask) -> Pairs:
    """Write the time range for an index look-up."""
    window = ask.query.time_range
    return [("start", seconds(window.start)), ("end", seconds(window.end))]


def timeout(ask: Ask) -> tuple[str, str]:
    """Tell the source to stop when nobody waits any more; it may not (measured), the transport does."""
    return "timeout", f"{max(1, round(ask.seconds_left * 1000))}ms"


def label_in_path(name: str) -> str:
    """Write a label name for a path: one that is no legacy name as Prometheus 3 escapes it (U__ and hex)."""
    if LEGACY_NAME.match(name):
        return name
    return "U__" + _ODD.sub(lambda odd: f"_{ord(odd[0]):x}_", name.replace("_", "__"))
