"""One request to Loki and the reading of its answer, and answers held against the scope of the integration."""

from __future__ import annotations

from collections.abc import Iterable

from inquest.connectors.loki import shapes
from inquest.connectors.loki.answers import Told, read_envelope, read_object
from inquest.connectors.loki.config import STATS
from inquest.connectors.shared.asking import Pairs, get_or_post
from inquest.connectors.shared.reading import shaped
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.signals import Volume
from inquest.domain.value import Labels
from inquest.domain.window import Window
from inquest.wire.apart import apart
from inquest.wire.ask import Ask
from inquest.wire.logql import Scoped
from inquest.wire.transport import Segments

STRAY = failure(FailureCode.CONTEXT_MISMATCH, "the answer holds streams of another scope")
_HAS_NO_STATS = frozenset({404, 405, 501})


async def told(ask: Ask, path: Segments, pairs: Pairs) -> Told | Failure:
    """Ask, and read the envelope."""
    answer = await get_or_post(ask, path, pairs)
    if isinstance(answer, Failure):
        return answer
    # In a thread: a large answer takes a while, and other reads go on meanwhile.
    return await apart(read_envelope, answer, now=ask.clock.now())


async def volume_of(ask: Ask, selector: str, window: Window) -> Volume | Failure | None:
    """Ask the index what `selector` covers in `window`; None where this Loki has no such index."""
    answer = await get_or_post(ask, STATS, [("query", selector), *times(window)])
    if isinstance(answer, Failure):
        return answer
    if answer.status in _HAS_NO_STATS:
        return None
    said = read_object(answer, now=ask.clock.now())
    return said if isinstance(said, Failure) else await shaped(lambda: shapes.volume(said))


def times(window: Window) -> Pairs:
    """Write the time range: nanoseconds, the end exclusive for all that is made of lines."""
    return [("start", str(shapes.since_1970_ns(window.start))), ("end", str(shapes.since_1970_ns(window.end)))]


def has_strays(sets: Iterable[Labels], matchers: Labels) -> bool:
    """Say whether a stream names another value for a mandatory label: the source does not keep its tenants apart."""
    return any(one.get(name, value) != value for one in sets for name, value in matchers.items())


def elsewhere(scoped: Scoped) -> Failure:
    """Refuse a selector that asks for another scope."""
    return failure(FailureCode.CONTEXT_MISMATCH, f"{', '.join(scoped.elsewhere)}: this integration reads another value")
