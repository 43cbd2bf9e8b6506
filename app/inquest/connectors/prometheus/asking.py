"""One request to Prometheus and the reading of its answer, and how times and names are written for it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlencode

from inquest.connectors.prometheus import shapes
from inquest.connectors.prometheus.answers import Told, read_envelope
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.signals import SignalContent
from inquest.domain.value import Json, epoch_ms
from inquest.wire.ask import Ask, Page
from inquest.wire.promql.printer import LEGACY_NAME
from inquest.wire.transport import Segments

GET_UP_TO_BYTES = 2_000
"""A longer query is posted: proxies refuse long URLs."""

Pairs = list[tuple[str, str]]
T = TypeVar("T")

_ODD = re.compile(r"[^a-zA-Z0-9_]")


async def told(ask: Ask, path: Segments, pairs: Pairs) -> Told | Failure:
    """Ask, by GET where it fits into a URL and by POST where it does not."""
    long = len(urlencode(pairs)) > GET_UP_TO_BYTES
    answer = await (ask.post_form(path, pairs) if long else ask.get(path, pairs))
    if isinstance(answer, Failure):
        return answer
    # In a thread: a large answer takes a while, and other reads go on meanwhile.
    return await asyncio.to_thread(read_envelope, answer, now=ask.clock.now())


async def shaped(read: Callable[[], T]) -> T | Failure:
    """Shape an answer; what does not fit is a failure that names the place."""
    try:
        return await asyncio.to_thread(read)
    except shapes.Drift as drift:
        return failure(FailureCode.SCHEMA_DRIFT, f"{drift.hint}: not as documented")
    except shapes.Unreadable as unreadable:
        return failure(FailureCode.MALFORMED_RESULT, unreadable.hint)


async def page(ask: Ask, path: Segments, pairs: Pairs, read: Callable[[Json], SignalContent]) -> Page | Failure:
    """Ask and shape; the page's expression is the path and parameters that were sent."""
    answer = await told(ask, path, pairs)
    if isinstance(answer, Failure):
        return answer
    content = await shaped(lambda: read(answer.data))
    if isinstance(content, Failure):
        return content
    asked = "&".join(f"{name}={value}" for name, value in pairs)
    return Page(content, f"/{'/'.join(path)}{'?' if asked else ''}{asked}", error=answer.partial)


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


def holds(search: str, texts: Iterable[str]) -> bool:
    """Say whether one of `texts` holds `search`, case ignored; "" is in every text."""
    wanted = search.casefold()
    return not wanted or any(wanted in text.casefold() for text in texts)
